//! The product's own prompt, schema and answer reader with the simulator's reviewer in between.

use mirilla_diff::parse;
use mirilla_domain::answer::read;
use mirilla_domain::chunk::plan_chunks;
use mirilla_domain::prompt::{ChunkPrompt, Nonce, chunk_question};
use mirilla_domain::review::{Category, Severity};
use mirilla_domain::settings::Policy;
use mirilla_sim::Otherwise;

use crate::against_sim::Rig;

const DIFF: &str = "\
diff --git a/src/Pay.java b/src/Pay.java
index 1111111..2222222 100644
--- a/src/Pay.java
+++ b/src/Pay.java
@@ -10,6 +10,8 @@ class Pay {
   void pay(Order order) {
-    if (order == null) {
-      return;
-    }
+    try {
+      charge(order);
+    } catch (IOException e) {
+    }
+    String q = \"SELECT * FROM orders WHERE id = \" + order.id();
     run(q);
   }
diff --git a/web/cart.ts b/web/cart.ts
new file mode 100644
--- /dev/null
+++ b/web/cart.ts
@@ -0,0 +1,3 @@
+export function total(items: Item[]) {
+  for (let i = 0; i <= items.length; i++) {
+    add(items[i]);
";

#[tokio::test]
async fn reviewer_reads_the_products_prompt() {
    let rig = Rig::new();
    rig.sim.messages().otherwise(Otherwise::Reviewer);
    let parsed = parse(DIFF.as_bytes());
    let plan = plan_chunks(&parsed.files, &[], &Policy::default(), 8_000);
    let question = chunk_question(&ChunkPrompt {
        chunk: &plan.chunks[0],
        plan: &plan,
        files: &parsed.files,
        rules: &[],
        language: None,
        description: None,
        nonce: &Nonce::from_random([3; 16]),
        max_tokens: 4_000,
    });
    let answer = rig.ask(&question).await.unwrap();
    let answered = read(&answer.text, &parsed.files).unwrap();
    assert_eq!(answered.rejected, []);
    let found: Vec<_> = answered
        .findings
        .iter()
        .map(|f| (f.path.as_str(), f.line, f.severity, f.category))
        .collect();
    assert_eq!(
        found,
        [
            ("src/Pay.java", 15, Severity::Critical, Category::Injection),
            ("src/Pay.java", 11, Severity::High, Category::Correctness),
            ("src/Pay.java", 13, Severity::High, Category::ErrorHandling),
            ("web/cart.ts", 2, Severity::High, Category::Correctness),
        ]
    );
    // Every flagged line is one that the diff shows in the new file.
    for finding in &answered.findings {
        let file = parsed
            .files
            .iter()
            .find(|file| file.new_path.as_deref() == Some(finding.path.as_bytes()));
        let mut lines = file
            .unwrap()
            .hunks
            .iter()
            .flat_map(mirilla_diff::Hunk::lines);
        assert!(
            lines.any(|line| line.new == Some(finding.line)),
            "{finding:?}"
        );
    }
    rig.sim.finish().unwrap();
}
