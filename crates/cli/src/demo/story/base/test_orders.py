from orders import orders_of


def test_newest_order_comes_first(db):
    assert [row[0] for row in orders_of(db, 7)] == [12, 11]


def test_unknown_customer_has_no_orders(db):
    assert orders_of(db, 0) == []
