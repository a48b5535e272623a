//! Weakens the project one line at a time, and asks each check whether it noticed.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use mirilla_localaws::project_root;
use tempfile::TempDir;

use crate::World;
use crate::checks::CHECKS;
use crate::links::Links;
use crate::template::{NAMES, TEMPLATE, Template, text_of};

const MANIFEST: &str = "Cargo.toml";

/// One weakening.
#[derive(Debug)]
struct Mutation {
    name: String,
    file: String,
    find: String,
    replace: String,
    check: String,
}

impl Mutation {
    /// The file's text, weakened. The line must be there exactly once, or nobody knows what is tried.
    fn weakened(&self) -> String {
        let text = text_of(&self.file);
        let times = text.matches(&self.find).count();
        assert_eq!(
            times, 1,
            "{}: `{}` stands {times} times in {}; mutations.toml must name one place",
            self.name, self.find, self.file
        );
        text.replace(&self.find, &self.replace)
    }
}

fn all() -> Vec<Mutation> {
    let table: toml::Table = include_str!("mutations.toml").parse().unwrap();
    table["mutation"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| {
            let text = |key: &str| {
                let value = entry.get(key).and_then(toml::Value::as_str);
                value
                    .unwrap_or_else(|| panic!("{entry} has no {key}"))
                    .to_owned()
            };
            assert_eq!(entry.as_table().unwrap().len(), 5, "{entry}");
            Mutation {
                name: text("name"),
                file: text("file"),
                find: text("find"),
                replace: text("replace"),
                check: text("check"),
            }
        })
        .collect()
}

/// Names of the checks that are red in a world.
fn red(world: &World, of_template: bool) -> BTreeSet<&'static str> {
    CHECKS
        .iter()
        .filter(|check| check.of_template == of_template && !(check.run)(world).is_empty())
        .map(|check| check.name)
        .collect()
}

#[test]
fn each_weakening_of_the_template_turns_its_check_red() {
    let mutations: Vec<Mutation> = all()
        .into_iter()
        .filter(|mutation| !mutation.file.ends_with(MANIFEST))
        .collect();
    assert!(mutations.len() >= 10);
    let texts: Vec<(String, String)> = mutations
        .iter()
        .map(|mutation| match mutation.file.as_str() {
            TEMPLATE => (mutation.weakened(), text_of(NAMES)),
            NAMES => (text_of(TEMPLATE), mutation.weakened()),
            other => panic!("{other} is not deployed"),
        })
        .collect();
    let worlds = Template::all_of(&texts)
        .into_iter()
        .map(World::with_template);
    judge(mutations.iter().zip(worlds), true);
}

#[test]
fn each_weakening_of_a_manifest_turns_its_check_red() {
    let mutations: Vec<Mutation> = all()
        .into_iter()
        .filter(|mutation| mutation.file.ends_with(MANIFEST))
        .collect();
    assert!(!mutations.is_empty());
    let worlds = mutations.iter().map(|mutation| {
        let copy = copied(&mutation.file, &mutation.weakened());
        // The lockfile's copy may change: it has no such edge yet.
        World::with_links(Links::at(copy.path(), &[]))
    });
    judge(mutations.iter().zip(worlds), false);
}

/// A check that no weakening turns red might see nothing at all.
#[test]
fn each_check_is_turned_red_by_some_weakening() {
    let named: BTreeSet<String> = all().into_iter().map(|mutation| mutation.check).collect();
    let known: BTreeSet<String> = CHECKS.iter().map(|check| check.name.to_owned()).collect();
    assert_eq!(named, known);
}

fn judge<'a>(worlds: impl Iterator<Item = (&'a Mutation, World)>, of_template: bool) {
    let mut wrong = Vec::new();
    for (mutation, world) in worlds {
        let red = red(&world, of_template);
        if red != BTreeSet::from([mutation.check.as_str()]) {
            let found: Vec<String> = CHECKS
                .iter()
                .filter(|check| red.contains(check.name))
                .flat_map(|check| (check.run)(&world))
                .collect();
            wrong.push(format!(
                "{}: {} should be red, but red are {red:?}:\n  {}",
                mutation.name,
                mutation.check,
                found.join("\n  ")
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Makes a workspace that is the project's own, but for one manifest.
fn copied(changed: &str, text: &str) -> TempDir {
    let (root, copy) = (project_root(), tempfile::tempdir().unwrap());
    for file in [MANIFEST, "Cargo.lock"] {
        fs::copy(root.join(file), copy.path().join(file)).unwrap();
    }
    symlink(root.join("tests"), copy.path().join("tests")).unwrap();
    for members in ["crates", "functions"] {
        for member in fs::read_dir(root.join(members)).unwrap() {
            let member = member.unwrap();
            let place = copy.path().join(members).join(member.file_name());
            fs::create_dir_all(&place).unwrap();
            share(&member.path(), &place);
        }
    }
    fs::write(copy.path().join(changed), text).unwrap();
    copy
}

/// Links everything of a crate but its manifest, which is copied.
fn share(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).unwrap() {
        let (path, name) = entry
            .map(|entry| (entry.path(), entry.file_name()))
            .unwrap();
        if name == MANIFEST {
            fs::copy(path, to.join(name)).unwrap();
        } else {
            symlink(path, to.join(name)).unwrap();
        }
    }
}
