from orders import orders_of


def test_newest_order_comes_first(db):
    assert [row[0] for row in orders_of(db, 7)] == [12, 11]
