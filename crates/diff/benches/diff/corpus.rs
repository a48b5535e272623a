//! Makes a diff of a wanted size: the mix of files, hunks and lines of a large pull request, the same
//! bytes on every machine.

use std::fmt::Write as _;

/// A small generator with a fixed seed (`SplitMix64`).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    fn within(&mut self, first: u64, last: u64) -> u64 {
        first + self.below(last - first + 1)
    }

    fn pick<'t>(&mut self, texts: &[&'t str]) -> &'t str {
        texts[self.below(texts.len() as u64) as usize]
    }
}

const WORDS: [&str; 32] = [
    "let", "self", "return", "config", "value", "request", "result", "if", "match", "error", "pub",
    "fn", "index", "buffer", "state", "token", "client", "await", "async", "map", "Some", "None",
    "string", "length", "context", "handler", "import", "const", "export", "await?", "=>", "i",
];

const FOLDERS: [&str; 10] = [
    "src",
    "crates/core",
    "lib",
    "internal/server",
    "packages/ui/components",
    "tests",
    "docs",
    "cmd/tool",
    "app/models",
    "web/static",
];

const ENDINGS: [&str; 8] = ["rs", "ts", "go", "py", "java", "md", "yaml", "c"];

/// Generates a diff of at least `bytes` bytes and at most one file more, which `git apply` accepts.
pub fn generate(bytes: usize) -> Vec<u8> {
    let mut random = Random(0x6d69_7269_6c6c_6121);
    let mut out = String::with_capacity(bytes + bytes / 8);
    let mut count = 0_u64;
    while out.len() < bytes {
        count += 1;
        file(&mut out, &mut random, count);
    }
    out.into_bytes()
}

fn file(out: &mut String, random: &mut Random, count: u64) {
    let folder = random.pick(&FOLDERS);
    let (word, ending) = (random.pick(&WORDS[..24]), random.pick(&ENDINGS));
    let blank = if random.below(40) == 0 { " " } else { "_" };
    let path = format!("{folder}/{word}{blank}{count}.{ending}");
    let (old, new) = (random.next() & 0xfff_ffff, random.next() & 0xfff_ffff);
    let tab = if blank == " " { "\t" } else { "" };
    match random.below(100) {
        0..12 => {
            let lines = random.within(5, 250);
            let _ = write!(
                out,
                "diff --git a/{path} b/{path}\nnew file mode 100644\nindex 0000000..{new:07x}\n--- /dev/null\n+++ b/{path}{tab}\n@@ -0,0 +1,{lines} @@\n"
            );
            (0..lines).for_each(|_| line(out, random, '+'));
        }
        12..16 => {
            let lines = random.within(5, 120);
            let _ = write!(
                out,
                "diff --git a/{path} b/{path}\ndeleted file mode 100644\nindex {old:07x}..0000000\n--- a/{path}{tab}\n+++ /dev/null\n@@ -1,{lines} +0,0 @@\n"
            );
            (0..lines).for_each(|_| line(out, random, '-'));
        }
        16..19 => {
            let _ = write!(
                out,
                "diff --git a/{path} b/{path}\nindex {old:07x}..{new:07x} 100644\nBinary files a/{path} and b/{path} differ\n"
            );
        }
        19..21 => {
            let _ = write!(
                out,
                "diff --git a/{path} b/{path}\nold mode 100644\nnew mode 100755\n"
            );
        }
        21..26 => {
            let _ = write!(
                out,
                "diff --git a/{path} b/{path}.new\nsimilarity index 90%\nrename from {path}\nrename to {path}.new\nindex {old:07x}..{new:07x} 100644\n--- a/{path}{tab}\n+++ b/{path}.new{tab}\n"
            );
            hunks(out, random);
        }
        _ => {
            let _ = write!(
                out,
                "diff --git a/{path} b/{path}\nindex {old:07x}..{new:07x} 100644\n--- a/{path}{tab}\n+++ b/{path}{tab}\n"
            );
            hunks(out, random);
        }
    }
}

/// One to eight hunks with three lines of context, as git prints them by default.
fn hunks(out: &mut String, random: &mut Random) {
    let (mut old_at, mut new_at) = (random.within(4, 60), 0);
    new_at += old_at;
    let mut body = String::new();
    for _ in 0..random.within(1, 8) {
        body.clear();
        let (mut old, mut new) = (0, 0);
        for _ in 0..random.within(1, 3) {
            let context = random.within(3, 5);
            (0..context).for_each(|_| line(&mut body, random, ' '));
            let shape = random.below(10);
            let gone = if shape < 7 { random.within(1, 6) } else { 0 };
            let come = if shape > 1 { random.within(1, 10) } else { 0 };
            (0..gone).for_each(|_| line(&mut body, random, '-'));
            (0..come).for_each(|_| line(&mut body, random, '+'));
            old += context + gone;
            new += context + come;
        }
        (0..3).for_each(|_| line(&mut body, random, ' '));
        old += 3;
        new += 3;
        let (word, other) = (random.pick(&WORDS), random.pick(&WORDS));
        let _ = writeln!(
            out,
            "@@ -{old_at},{old} +{new_at},{new} @@ fn {word}_{other}() {{"
        );
        out.push_str(&body);
        let gap = random.within(8, 300);
        old_at += old + gap;
        new_at += new + gap;
    }
}

/// A line of code of 0 to 100 bytes, 36 on average.
fn line(out: &mut String, random: &mut Random, prefix: char) {
    out.push(prefix);
    if random.below(9) > 0 {
        (0..random.below(5)).for_each(|_| out.push_str("    "));
        for _ in 0..random.within(1, 7) {
            out.push_str(random.pick(&WORDS));
            out.push_str(random.pick(&[" ", ".", "(", ", ", " = ", "::"]));
        }
        out.push_str(random.pick(&[";", "", ") {", "},", "/* note */"]));
    }
    out.push('\n');
}
