//! Every check by its name: a function from the world to what is wrong in it.

mod credentials;
mod forge;
mod linked;
mod network;
mod policies;
mod queues;
mod reviewer;
mod stores;

use std::collections::BTreeMap;

use crate::World;
use crate::grants::Role;

/// A check.
pub(crate) struct Check {
    /// Its name, which mutations name.
    pub(crate) name: &'static str,
    /// Whether it looks at the template, rather than at what is linked.
    pub(crate) of_template: bool,
    /// What it finds wrong.
    pub(crate) run: fn(&World) -> Vec<String>,
}

macro_rules! checks {
    ($($part:ident of $what:ident: $($name:ident),* $(,)?;)*) => {
        /// All checks.
        pub(crate) const CHECKS: &[Check] = &[$($(Check {
            name: stringify!($name),
            of_template: matches!(stringify!($what).as_bytes(), b"template"),
            run: |world| $part::$name(world.$what()),
        },)*)*];

        $($(#[test]
        fn $name() {
            let found = $part::$name(World::default().$what());
            assert!(found.is_empty(), "{}", found.join("\n"));
        })*)*
    };
}

checks! {
    reviewer of template:
        reviewer_has_no_right_in_s3,
        reviewer_reads_the_model_key_and_no_other_secret,
        reviewer_asks_bedrock_for_claude_and_nothing_else,
        reviewer_reaches_no_minter,
        reviewer_reaches_no_ledger,
        reviewer_sends_to_no_queue,
        reviewer_changes_purses_and_nothing_else,
        reviewer_is_told_of_no_forge,
        stages_are_told_the_same_policy;
    credentials of template:
        only_the_reviewer_reads_the_model_key,
        only_minters_sign_with_the_app_key,
        account_manages_the_app_key_without_signing,
        each_stage_invokes_its_own_minter,
        tokens_that_push_need_the_opt_in,
        each_secret_has_its_readers,
        no_secret_is_written_down;
    forge of template:
        stages_are_told_the_same_forge,
        gitlab_has_no_app;
    policies of template:
        each_function_has_a_role_of_its_own,
        no_policy_stands_elsewhere,
        each_role_trusts_one_service_of_this_account,
        each_resource_is_named,
        each_action_is_named,
        resource_policies_give_nothing_wider,
        only_intake_is_public;
    queues of template:
        each_mapping_has_receive_delete_and_attributes_on_its_queue,
        queue_policies_name_source_and_account,
        each_queue_has_dead_letters,
        messages_are_hidden_for_six_time_outs,
        reviews_have_a_brake;
    stores of template:
        tables_can_be_restored,
        bucket_is_closed_and_empties_itself,
        only_the_poster_keeps_runs,
        logs_end_and_belong_to_one_function;
    network of template:
        reviewer_has_no_way_out,
        endpoints_admit_our_account_to_our_resources,
        names_of_others_do_not_resolve;
    linked of links:
        reviewer_links_no_forge,
        only_the_reviewer_links_a_model,
        only_adapters_speak_http,
        functions_link_no_simulator;
}

/// Notes a right that must not be there, and a control that must: a template that gives nobody
/// anything would pass every denial.
fn denied(
    roles: &BTreeMap<String, Role>,
    who: &str,
    (action, resource): (&str, &str),
    control: &str,
    found: &mut Vec<String>,
) {
    if roles.get(who).is_none_or(|role| role.may(action, resource)) {
        found.push(format!("{who} may {action} on {resource}"));
    }
    if !roles
        .get(control)
        .is_some_and(|role| role.may(action, resource))
    {
        found.push(format!(
            "control: {control} may not {action} on {resource}, so that denial shows nothing"
        ));
    }
}
