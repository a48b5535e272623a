package shop;

import java.math.BigDecimal;
import java.util.Objects;

/** Takes payments for orders. */
public final class Pay {
    private final Gateway gateway;
    private final Receipts receipts;

    public Pay(Gateway gateway, Receipts receipts) {
        this.gateway = Objects.requireNonNull(gateway);
        this.receipts = Objects.requireNonNull(receipts);
    }

    /** Charges an order once and returns its receipt. */
    public Receipt charge(Order order) throws PaymentException {
        BigDecimal amount = order.total();
        String id = gateway.charge(order.card(), amount);
        return receipts.write(order.id(), id, amount);
    }
}
