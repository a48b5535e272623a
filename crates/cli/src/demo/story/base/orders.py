"""Finds orders."""


def orders_of(db, customer_id):
    """Returns a customer's orders, newest first."""
    return db.execute(
        "SELECT id, total FROM orders WHERE customer = ? ORDER BY placed_at DESC",
        (customer_id,),
    ).fetchall()
