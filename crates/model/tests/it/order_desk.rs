//! The example, run as it stands.

#[path = "../../examples/order_desk.rs"]
mod example;

#[test]
fn example_runs_and_says_what_it_did() {
    let said = example::run().unwrap();
    insta::assert_snapshot!(said, @r#"
    turn 1: get_order_status {"order_id":4711} -> shipped on 27 November, arrives on 1 December
    turn 1: check_stock {"article":"bolt-m8"} -> The arguments do not fit: unknown field `article`, expected `sku`.
    turn 2: check_stock {"sku":"bolt-m8"} -> 1,200 pieces
    answer: Your order 4711 arrives on 1 December. We have 1,200 M8 bolts in stock.
    left in the purse: $0.2456
    "#);
}
