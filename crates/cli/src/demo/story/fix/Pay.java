package shop;

import java.math.BigDecimal;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;

/** Takes payments for orders. */
public final class Pay {
    private static final Map<String, Receipt> RECENT = new HashMap<>();

    private final Gateway gateway;
    private final Receipts receipts;

    public Pay(Gateway gateway, Receipts receipts) {
        this.gateway = Objects.requireNonNull(gateway);
        this.receipts = Objects.requireNonNull(receipts);
    }

    /** Charges an order once and returns its receipt. */
    public Receipt charge(Order order) throws PaymentException {
        Receipt known = RECENT.get(order.id());
        if (known != null) {
            return known;
        }
        BigDecimal amount = order.total();
        String id = gateway.charge(order.card(), amount);
        Receipt receipt = receipts.write(order.id(), id, amount);
        RECENT.put(order.id(), receipt);
        return receipt;
    }
}
