//! Which files stand nearest to a change.

/// Most folders that distances are measured from.
const MAX_FOLDERS: usize = 200;

/// The folders of a change.
#[derive(Debug, Clone, Default)]
pub struct Near {
    folders: Vec<String>,
}

impl Near {
    /// Takes the changed paths.
    pub fn new<'p>(paths: impl IntoIterator<Item = &'p str>) -> Self {
        let mut folders: Vec<String> = paths
            .into_iter()
            .map(|path| folder(path).to_owned())
            .collect();
        folders.sort_unstable();
        folders.dedup();
        folders.truncate(MAX_FOLDERS);
        Self { folders }
    }

    /// Returns paths nearest first: by the least number of steps from one of the folders, up and down,
    /// and in their own order where that is equal.
    pub fn sort<'p, T>(
        &self,
        items: impl IntoIterator<Item = T>,
        path: impl Fn(&T) -> &'p str,
    ) -> Vec<T> {
        let mut last: Option<(&str, usize)> = None;
        let mut sorted: Vec<(usize, T)> = items
            .into_iter()
            .map(|item| {
                let of = folder(path(&item));
                let distance = match last {
                    Some((same, distance)) if same == of => distance,
                    _ => self.distance(of),
                };
                last = Some((of, distance));
                (distance, item)
            })
            .collect();
        sorted.sort_by_key(|(distance, _)| *distance);
        sorted.into_iter().map(|(_, item)| item).collect()
    }

    fn distance(&self, of: &str) -> usize {
        let parts: Vec<&str> = parts(of).collect();
        self.folders
            .iter()
            .map(|folder| {
                let common = self::parts(folder)
                    .zip(&parts)
                    .take_while(|(a, b)| a == *b)
                    .count();
                let steps = self::parts(folder).count().saturating_add(parts.len());
                steps.saturating_sub(common.saturating_mul(2))
            })
            .min()
            .unwrap_or(0)
    }
}

fn folder(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

fn parts(folder: &str) -> impl Iterator<Item = &str> {
    folder.split('/').filter(|part| !part.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_folders_come_first() {
        let near = Near::new(["src/pay/card.rs", "src/pay/mod.rs"]);
        let paths = [
            "README.md",
            "docs/a/b/c.md",
            "src/lib.rs",
            "src/pay/a.rs",
            "src/pay/deep/x.rs",
            "src/user/a.rs",
            "srcery/a.rs",
        ];
        let sorted = near.sort(paths, |path| path);
        assert_eq!(
            sorted,
            [
                "src/pay/a.rs",
                "src/lib.rs",
                "src/pay/deep/x.rs",
                "README.md",
                "src/user/a.rs",
                "srcery/a.rs",
                "docs/a/b/c.md",
            ]
        );
        assert_eq!(Near::default().sort(paths, |path| path), paths);
    }
}
