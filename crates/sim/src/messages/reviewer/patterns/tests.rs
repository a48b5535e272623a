use super::super::shown;
use super::*;

/// Shows one file the way the product does: a line that begins with `+` was added, with `-` removed,
/// and with a blank neither.
fn show(path: &str, lines: &str) -> Vec<ShownFile> {
    let mut number = 0_u32;
    let mut text =
        format!("<diff nonce=\"5f\">\n<file path=\"{path}\" change=\"modified\">\n@@ \n");
    for line in lines.trim_matches('\n').lines() {
        let (mark, code) = line.split_at(1);
        if mark == "-" {
            text = format!("{text}     - {code}\n");
        } else {
            number += 1;
            text = format!("{text}{number:4} {mark} {code}\n");
        }
    }
    let files = shown::read(&format!("{text}</file>\n</diff nonce=\"5f\">\n"));
    assert_eq!(files.len(), 1, "{text}");
    files
}

fn findings(path: &str, lines: &str) -> Vec<SimFinding> {
    show(path, lines).iter().flat_map(scan).collect()
}

/// Returns `line: title` of what is found.
fn found(path: &str, lines: &str) -> Vec<String> {
    let findings = findings(path, lines).into_iter();
    findings
        .map(|finding| format!("{}: {}", finding.line, finding.title))
        .collect()
}

fn nothing(path: &str, lines: &str) {
    assert_eq!(found(path, lines), Vec::<String>::new(), "{path}");
}

#[test]
fn all_expressions_compile() {
    let lists = [
        ALL_RX,
        failures::ALL_RX,
        data::ALL_RX,
        secrets::ALL_RX,
        state::ALL_RX,
        loops::ALL_RX,
    ];
    for (name, pattern) in lists.into_iter().flatten() {
        assert!(Regex::new(pattern).is_ok(), "{name}");
    }
}

#[test]
fn swallowed_exceptions_are_found_in_every_language() {
    let java = "+  try { pay(); }\n+  catch (IOException e) {\n+  }\n";
    assert_eq!(
        found("src/Pay.java", java),
        ["2: `IOException` is swallowed"]
    );
    assert_eq!(
        found("a.ts", "+} catch (e) { /* later */ }"),
        ["1: The exception is swallowed"]
    );
    assert_eq!(
        found("a.cs", "+catch {\n+}"),
        ["1: The exception is swallowed"]
    );
    assert_eq!(
        found("a.py", "+    except ValueError:\n+        pass"),
        ["1: `ValueError` is swallowed"]
    );
    assert_eq!(
        found("a.py", "+    except: pass"),
        ["1: The exception is swallowed"]
    );
    assert_eq!(
        found("a.go", "+\tif err != nil {\n+\t}"),
        ["1: The error is swallowed"]
    );
    assert_eq!(
        found("a.rb", "+rescue => e\n+end"),
        ["1: The exception is swallowed"]
    );
    assert_eq!(
        found("a.js", "+load().catch(() => {});"),
        ["1: The rejected promise is swallowed"]
    );
    nothing(
        "a.java",
        "+catch (IOException e) {\n+  throw new Failed(e);\n+}",
    );
    nothing("a.py", "+    except ValueError:\n+        raise");
    nothing("a.java", " catch (IOException e) {\n }");
    nothing("a.java", "+// catch (IOException e) { }");
}

#[test]
fn ignored_errors_and_panics_on_input_are_found() {
    assert_eq!(
        found("a.go", "+\t_ = os.Remove(path)"),
        ["1: The error of this call is ignored"]
    );
    assert_eq!(
        found("a.rs", "+    let _ = save(&order).await;"),
        ["1: The error of this call is ignored"]
    );
    assert_eq!(
        found("a.rs", "+    let n: u32 = text.parse().unwrap();"),
        ["1: Malformed input panics here"]
    );
    assert_eq!(
        found("a.rs", "+    let q = request.query(\"id\").expect(\"id\");"),
        ["1: Malformed input panics here"]
    );
    nothing("a.rs", "+    let n: u32 = text.parse()?;");
    nothing("tests/a.rs", "+    let n: u32 = text.parse().unwrap();");
    nothing("a.rs", "+    let guard = lock.lock().unwrap();");
}

#[test]
fn sql_from_strings_is_found_in_every_language() {
    for (path, line) in [
        (
            "a.java",
            "+String q = \"SELECT * FROM users WHERE id = \" + id;",
        ),
        ("a.py", "+q = f\"select * from users where id = {user_id}\""),
        (
            "a.py",
            "+q = \"DELETE FROM users WHERE name = '%s'\" % name",
        ),
        (
            "a.go",
            "+q := fmt.Sprintf(\"SELECT * FROM t WHERE id = %s\", id)",
        ),
        (
            "a.ts",
            "+db.query(`UPDATE users SET name = '${name}' WHERE id = 1`);",
        ),
        (
            "a.rs",
            "+let q = format!(\"SELECT * FROM t WHERE id = {id}\");",
        ),
        ("a.php", "+$q = \"SELECT * FROM t WHERE id = \" . $id;"),
    ] {
        assert_eq!(
            found(path, line),
            ["1: SQL is built from strings"],
            "{line}"
        );
    }
    nothing(
        "a.java",
        "+String q = \"SELECT * FROM users WHERE id = ?\";",
    );
    nothing(
        "a.py",
        "+cur.execute(\"select * from users where id = %s\", (user_id,))",
    );
    nothing("a.md", "+q = f\"select * from users where id = {user_id}\"");
}

#[test]
fn other_injections_are_found() {
    assert_eq!(
        found("a.py", "+os.system(\"rm \" + path)"),
        ["1: A shell command is built from strings"]
    );
    assert_eq!(
        found("a.py", "+subprocess.run(f\"ls {d}\", shell=True)"),
        ["1: A shell command is built from strings"]
    );
    assert_eq!(found("a.js", "+eval(input)"), ["1: Data is run as code"]);
    assert_eq!(
        found("a.py", "+x = pickle.loads(data)"),
        ["1: `pickle.loads` can make any object"]
    );
    assert_eq!(
        found("a.js", "+el.innerHTML = name;"),
        ["1: Text is put into the page unescaped"]
    );
    assert_eq!(
        found("a.go", "+cfg := &tls.Config{InsecureSkipVerify: true}"),
        ["1: The other side's certificate is not checked"]
    );
    assert_eq!(
        found(
            "a.js",
            "+fs.readFile(path.join(root, req.params.name), done);"
        ),
        ["1: A path comes straight from the request"]
    );
    nothing("a.py", "+x = yaml.load(data, Loader=yaml.SafeLoader)");
    nothing("a.js", "+const m = pattern.exec(text + \"x\");");
    nothing("a.py", "+subprocess.run([\"ls\", d])");
}

#[test]
fn credentials_are_found_and_not_repeated() {
    let secret = "made-up-hunter2";
    for (path, line) in [
        ("a.java", format!("+String dbPassword = \"{secret}\";")),
        ("a.py", format!("+API_KEY = '{secret}'")),
        (
            "a.ts",
            format!("+const config = {{ authToken: \"{secret}\" }};"),
        ),
        ("a.yml", format!("+db_password: {secret}")),
    ] {
        let findings = findings(path, &line);
        assert_eq!(findings.len(), 1, "{line}");
        let finding = &findings[0];
        assert_eq!(finding.severity, "critical");
        assert!(!finding.title.contains(secret) && !finding.message.contains(secret));
    }
    nothing("a.py", "+password = os.environ[\"PASSWORD\"]");
    nothing("a.yml", "+password: ${DB_PASSWORD}");
    nothing("a.py", "+password_label = \"Password:\"");
    nothing("tests/a.py", "+PASSWORD = 'made-up-hunter2'");
}

#[test]
fn logged_credentials_are_found() {
    for (path, line, name) in [
        (
            "a.java",
            "+log.info(\"login with \" + password);",
            "password",
        ),
        ("a.py", "+logger.debug(f\"token is {token}\")", "token"),
        ("a.ts", "+console.log(`using ${apiKey}`);", "apiKey"),
        (
            "a.go",
            "+log.Printf(\"token=%s\", accessToken)",
            "accessToken",
        ),
        (
            "a.rs",
            "+    tracing::info!(\"key {}\", api_key);",
            "api_key",
        ),
    ] {
        assert_eq!(
            found(path, line),
            [format!("1: `{name}` is written to the log")],
            "{line}"
        );
    }
    nothing("a.java", "+log.info(\"password changed\");");
    nothing("a.py", "+logger.info(\"token refreshed for %s\", user)");
}

#[test]
fn shared_maps_are_found() {
    let java = "+  private static final Map<String, Order> CACHE = new HashMap<>();\n \n+    CACHE.put(id, order);";
    assert_eq!(
        found("a.java", java),
        ["1: `CACHE` is shared without a lock"]
    );
    assert_eq!(
        found("a.rs", "+static mut COUNTER: u64 = 0;"),
        ["1: `COUNTER` is shared without a lock"]
    );
    assert_eq!(
        found("a.go", "+var cache = map[string]int{}\n+\tcache[key] = 1"),
        ["1: `cache` is shared without a lock"]
    );
    nothing(
        "a.java",
        "+  static final Map<String, Order> M = new ConcurrentHashMap<>();\n+  M.put(a, b);",
    );
    nothing(
        "a.java",
        "+  static final Map<String, Order> M = new HashMap<>();\n+  M.get(a);",
    );
    nothing(
        "a.go",
        "+var mu sync.Mutex\n+var cache = map[string]int{}\n+\tcache[key] = 1",
    );
}

#[test]
fn leaks_are_found_unless_closed_or_handed_on() {
    assert_eq!(
        found("a.py", "+f = open(path)\n+data = f.read()"),
        ["1: `f` is not closed on every path"]
    );
    assert_eq!(
        found("a.java", "+FileReader in = new FileReader(f);\n+in.read();"),
        ["1: `in` is not closed on every path"]
    );
    assert_eq!(
        found("a.go", "+\tf, err := os.Open(name)\n+\tread(f)"),
        ["1: `f` is not closed on every path"]
    );
    assert_eq!(
        found("a.c", "+  FILE *fp = fopen(name, \"r\");\n+  read(fp);"),
        ["1: `fp` is not closed on every path"]
    );
    nothing("a.py", "+with open(path) as f:\n+    data = f.read()");
    nothing("a.go", "+\tf, err := os.Open(name)\n+\tdefer f.Close()");
    nothing("a.java", "+try (FileReader in = new FileReader(f)) {\n+}");
    nothing("a.go", "+\tf, err := os.Open(name)\n+\treturn f, err");
}

#[test]
fn removed_checks_are_found_on_the_next_line() {
    let java = " void pay(User user) {\n-  if (user == null) {\n-    return;\n-  }\n   charge(user.card());";
    assert_eq!(
        found("a.java", java),
        ["2: The check of `user` for null is gone"]
    );
    let python = "-    if user is None:\n-        return\n     charge(user.card)";
    assert_eq!(
        found("a.py", python),
        ["1: The check of `user` for null is gone"]
    );
    let bound = "-  if (offset > length) { throw new Bad(); }\n   read(offset);";
    assert_eq!(found("a.java", bound), ["1: The bound on `offset` is gone"]);
    let admin = "-  if (!user.isAdmin()) { return forbidden(); }\n   deleteAll();";
    assert_eq!(found("a.java", admin), ["1: The `isAdmin` check is gone"]);
    nothing(
        "a.java",
        "-  if (user == null) {\n+  if (user == null || user.gone()) {\n     return;",
    );
    nothing(
        "a.java",
        "-  if (user == null) {\n-    charge(user);\n-  }\n   done();",
    );
}

#[test]
fn bounds_promises_and_comparisons_are_found() {
    assert_eq!(
        found("a.java", "+for (int i = 0; i <= items.length; i++) {"),
        ["1: The loop runs one past the end"]
    );
    assert_eq!(
        found("a.go", "+\tfor i := 0; i <= len(items); i++ {"),
        ["1: The loop runs one past the end"]
    );
    assert_eq!(
        found("a.rs", "+    while i <= items.len() {"),
        ["1: The loop runs one past the end"]
    );
    assert_eq!(
        found("a.rs", "+    for i in 0..=items.len() {"),
        ["1: The loop runs one past the end"]
    );
    assert_eq!(
        found("a.py", "+    for i in range(len(items) + 1):"),
        ["1: The loop runs one past the end"]
    );
    let script = "+async function save(order) {\n+}\n+function go() {\n+  save(order);\n+}";
    assert_eq!(found("a.ts", script), ["4: Nobody waits for `save`"]);
    assert_eq!(
        found("a.py", "+    asyncio.sleep(1)"),
        ["1: Nobody waits for `sleep`"]
    );
    assert_eq!(
        found("a.java", "+if (name == \"admin\") {"),
        ["1: Strings are compared by identity"]
    );
    assert_eq!(
        found("a.js", "+if (role = admin) {"),
        ["1: The condition assigns instead of comparing"]
    );
    assert_eq!(
        found("a.java", "+if (user != null || user.name().isEmpty()) {"),
        ["1: `user` is used exactly when it is null"]
    );
    assert_eq!(
        found("a.py", "+def add(item, items=[]):"),
        ["1: The default of `items` is shared by all calls"]
    );
    assert_eq!(
        found("a.java", "+double totalPrice = 0;"),
        ["1: Money is kept in a binary fraction"]
    );
    nothing("a.java", "+for (int i = 0; i < items.length; i++) {");
    nothing(
        "a.ts",
        "+async function save(order) {\n+}\n+  await save(order);\n+  return save(order);",
    );
    nothing("a.kt", "+if (name == \"admin\") {");
    nothing("a.js", "+if (role === admin) {");
    nothing("a.java", "+if (user != null && user.name().isEmpty()) {");
}

#[test]
fn suggestion_replaces_the_whole_line() {
    let findings = findings("a.java", "+  for (int i = 0; i <= a.length; i++) {");
    let suggestion = findings[0].suggestion.as_deref();
    assert_eq!(suggestion, Some("  for (int i = 0; i < a.length; i++) {"));
    assert_eq!(findings[0].quote, "for (int i = 0; i <= a.length; i++) {");
}
