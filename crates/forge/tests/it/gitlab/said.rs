//! Who said something, who wrote the change, who may write, and that people are told they were heard.

use mirilla_domain::ids::{Account, CommentId};
use mirilla_domain::request::CommentPlace;
use mirilla_ports::ForgeRead as _;
use mirilla_ports::ForgeWrite as _;
use mirilla_ports::forge::ForgeError;
use mirilla_sim::{Access, Commit, GitlabFeature, Scope};

use super::lab::{PROJECT, each, each_where, repo};

const WHOLE: CommentPlace = CommentPlace::Conversation;

#[tokio::test]
async fn comment_is_read_as_it_is_now_and_notes_of_gitlab_are_none() {
    for lab in each() {
        let gl = lab.gl();
        let id = gl
            .comment(PROJECT, lab.iid, "bob", "/mirilla review")
            .unwrap();
        let (reader, repo) = (lab.reader(), repo());
        let read = |id| reader.comment(&repo, lab.pr(), WHOLE, CommentId::new(id));
        let said = read(id).await.unwrap();
        assert_eq!((said.pr, said.body.as_str()), (lab.pr(), "/mirilla review"));
        assert_eq!(said.author.unwrap().as_str(), "bob");
        assert_eq!(said.author_id.unwrap().get(), gl.user_id("bob"));
        assert!(!said.by_bot && !said.ours);
        gl.set_title(PROJECT, lab.iid, "/mirilla review", "bob")
            .unwrap();
        let system = lab.page().discussions.last().unwrap().notes[0].id;
        let refused = read(system).await;
        assert!(
            matches!(refused, Err(ForgeError::NotFound { .. })),
            "{refused:?}"
        );
        lab.sim.finish().unwrap();
    }
}

#[tokio::test]
async fn account_of_a_token_is_a_bot_and_our_own_is_ours() {
    for lab in each_where(|version| version.has(GitlabFeature::ProjectTokens)) {
        let gl = lab.gl();
        let token = gl.create_project_token(PROJECT, "made up", Access::Developer, Scope::Api);
        let bot = lab.writer_with(&token.unwrap());
        let id = bot.say(&repo(), lab.pr(), "Beep.").await.unwrap();
        let said = lab.reader().comment(&repo(), lab.pr(), WHOLE, id).await;
        let said = said.unwrap();
        assert!(said.by_bot && !said.ours);
        let own = bot.reader().comment(&repo(), lab.pr(), WHOLE, id).await;
        assert!(own.unwrap().ours);
        lab.page();
        lab.sim.finish().unwrap();
    }
}

#[tokio::test]
async fn only_active_developers_may_write() {
    for lab in each() {
        let reader = lab.reader();
        for (who, want) in [
            ("alice", true),
            ("bob", true),
            ("BOB", true),
            ("carol", false),
            ("bo", false),
            ("nobody", false),
        ] {
            let who = Account::parse(who).unwrap();
            let may = reader.may_write(&repo(), &who).await.unwrap();
            assert_eq!(may, want, "{who:?}");
        }
        lab.gl().remove_member(PROJECT, "bob").unwrap();
        let bob = Account::parse("bob").unwrap();
        assert!(!reader.may_write(&repo(), &bob).await.unwrap());
        lab.sim.finish().unwrap();
    }
}

#[tokio::test]
async fn authors_are_who_opened_pushed_and_committed() {
    for lab in each() {
        let gl = lab.gl();
        let base = gl.tip(PROJECT, "feature").unwrap();
        let by_erin = Commit::by("erin", "Hers").write("hers.go", "x\n");
        let sha = gl.write_commit(PROJECT, &[&base], &by_erin).unwrap();
        gl.push(PROJECT, "feature", &sha, "carol").unwrap();
        gl.comment(PROJECT, lab.iid, "alice", "added 1 commit")
            .unwrap();
        let authors = lab
            .reader()
            .change_authors(&repo(), lab.pr())
            .await
            .unwrap();
        assert_eq!(authors.logins, ["bob", "carol", "erin"]);
        assert!(authors.complete);
        gl.flood(PROJECT, lab.iid, "alice", 3_001).unwrap();
        let cut = lab
            .reader()
            .change_authors(&repo(), lab.pr())
            .await
            .unwrap();
        assert!(!cut.complete, "a push may be noted beyond the bound");
        lab.sim.finish().unwrap();
    }
}

#[tokio::test]
async fn eyes_are_put_on_once_however_often_and_on_nothing_that_is_gone() {
    for lab in each() {
        let id = lab.gl().comment(PROJECT, lab.iid, "bob", "/mirilla review");
        let (id, writer, repo) = (CommentId::new(id.unwrap()), lab.writer(), repo());
        let see = || writer.acknowledge(&repo, lab.pr(), WHOLE, id);
        for _ in 0..2 {
            see().await.unwrap();
        }
        let awards = lab.page().discussions[0].notes[0].awards.clone();
        assert_eq!(awards, [("mirilla".to_owned(), "eyes".to_owned())]);
        lab.gl().delete_note(PROJECT, lab.iid, id.get()).unwrap();
        let gone = see().await;
        assert!(matches!(gone, Err(ForgeError::NotFound { .. })), "{gone:?}");
        lab.sim.finish().unwrap();
    }
}
