"""Pays money back."""


def refund(db, gateway, order_id):
    """Refunds an order."""
    row = db.execute("SELECT charge FROM orders WHERE id = " + order_id).fetchone()
    gateway.refund(row[0])
