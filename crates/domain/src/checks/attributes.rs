//! Lines of `.gitattributes` that keep changes out of sight.

use super::source::Source;
use super::{Check, Found, Hits, path};
use crate::review::Severity;

/// Reports added attributes that hide content from diffs, archives or reviews.
pub(super) fn check(source: &Source<'_>, out: &mut Hits<'_>) {
    let is_attributes = |path: &String| path::name(path) == ".gitattributes";
    if !path::both(source.file).iter().any(is_attributes) {
        return;
    }
    for line in source.added() {
        let text = String::from_utf8_lossy(line.text);
        let Some((attribute, why)) = hiding(text.trim()) else {
            continue;
        };
        out.push(Found::at(
            Check::HiddenByAttributes,
            line.new.unwrap_or(0),
            Severity::Medium,
            format!("The attribute `{attribute}` hides files from review"),
            why,
        ));
    }
}

/// The hiding attribute of a line, and what it does.
fn hiding(line: &str) -> Option<(&str, &'static str)> {
    if line.starts_with('#') {
        return None;
    }
    let mut words = line.split_whitespace();
    let pattern = words.next()?;
    words.find_map(|word| {
        let (name, value) = word.split_once('=').unwrap_or((word, "true"));
        let set = !matches!(value, "false" | "0");
        let why = match name {
            "export-ignore" => "Archives, which tools read, will lack the files as if they did not exist.",
            "export-subst" => "Archives, which tools read, will hold other text than the commit: placeholders are replaced by commit messages.",
            "-diff" => "Changes of the files will be shown as binary, that is, not at all.",
            "binary" if !is_binary(pattern) => "Changes of the files will be shown as binary, that is, not at all.",
            "linguist-generated" | "gitlab-generated" if set => "Changes of the files will be folded away as generated.",
            _ => return None,
        };
        Some((word, why))
    })
}

/// A pattern for files that are binary anyway.
fn is_binary(pattern: &str) -> bool {
    const EXTENSIONS: &[&str] = &[
        "7z", "a", "aar", "avif", "bin", "bmp", "br", "bz2", "class", "dat", "db", "dll", "doc",
        "docx", "dylib", "eot", "exe", "fbx", "flac", "gif", "glb", "gz", "icns", "ico", "jar",
        "jks", "jpeg", "jpg", "lib", "m4a", "mdb", "mov", "mp3", "mp4", "mpg", "npy", "npz", "o",
        "odt", "ogg", "onnx", "otf", "p12", "parquet", "pb", "pdf", "pdn", "pfx", "phar", "pkl",
        "png", "ppt", "pptx", "psd", "pyc", "pyd", "rar", "snk", "so", "sqlite", "swf", "tar",
        "tga", "tgz", "tif", "tiff", "ttc", "ttf", "wasm", "wav", "webm", "webp", "whl", "woff",
        "woff2", "xls", "xlsx", "xz", "zip", "zst",
    ];
    let lower = pattern.to_ascii_lowercase();
    let extension = lower
        .rsplit_once('.')
        .map_or("", |(_, extension)| extension);
    EXTENSIONS.contains(&extension)
}
