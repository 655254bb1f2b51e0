//! What the page knows while it stays: the filter, the selection, the row under the keys, and what is being done.
//! All of it outlives the list's answers, so that a refresh takes nothing away.

use std::sync::Arc;

use leptos::prelude::*;
use leptos_router::{
    NavigateOptions,
    hooks::{use_navigate, use_params_map, use_query_map},
};

use crate::{
    api::SharedApi,
    components::{
        actions::Doing,
        notice::{Toasts, use_toasts},
    },
    i18n::{Catalogue, use_text},
    model::{
        BulkAction, BulkRequest, Count, Cursor, Disposition, PendingChange, PendingDetail, PendingFilter, PendingItem,
        PendingPage, PendingQuery, Problem, RecordId, ReplayRequest,
    },
    paths,
    query::{Query, use_api, use_query},
};

/// A record as the panel shows it: none is open; it is not there; it is this.
pub(super) type Shown = Option<Result<PendingDetail, Problem>>;

/// What can be taken back.
#[derive(Clone)]
pub(super) enum Undo {
    /// These records, which now have this disposition.
    Records(String, Vec<RecordId>, Disposition),
    /// More than were chosen one by one: they can be found under their new disposition.
    Elsewhere(String),
}

/// Goes to an address, to its top or staying where the page is.
type Go = Arc<dyn Fn(&str, bool) + Send + Sync>;

#[derive(Clone, Copy)]
pub(super) struct Desk {
    pub(super) text: &'static Catalogue,
    pub(super) query: Memo<PendingQuery>,
    /// The id in the address, as it stands there.
    pub(super) open: Memo<Option<String>>,
    /// The rows of the last answer, in order; for keys and the selection.
    pub(super) rows: RwSignal<Vec<PendingItem>>,
    pub(super) total: RwSignal<Count>,
    /// The row under the keys.
    pub(super) cursor: RwSignal<Option<RecordId>>,
    pub(super) chosen: RwSignal<Vec<RecordId>>,
    /// All that match are chosen, on whatever page.
    pub(super) all: RwSignal<bool>,
    pub(super) undo: RwSignal<Option<Undo>>,
    dialogs: StoredValue<Dialogs>,
    hands: StoredValue<Hands>,
}

/// Which dialogs are open, and what each is about.
#[derive(Clone, Copy)]
pub(super) struct Dialogs {
    pub(super) replaying: RwSignal<bool>,
    pub(super) discarding: RwSignal<bool>,
    pub(super) snoozing: RwSignal<bool>,
    pub(super) editing: RwSignal<bool>,
    pub(super) help: RwSignal<bool>,
    pub(super) to_replay: RwSignal<ReplayRequest>,
    pub(super) to_snooze: RwSignal<Option<PendingItem>>,
    pub(super) to_edit: RwSignal<Option<PendingDetail>>,
    /// What was typed and not sent, and for which record: closing the dialog does not lose it.
    pub(super) unsent: RwSignal<Option<(RecordId, String)>>,
}

/// What reaches beyond the page.
#[derive(Clone)]
pub(super) struct Hands {
    pub(super) list: Query<PendingPage>,
    pub(super) detail: Query<Shown>,
    pub(super) doing: Doing,
    pub(super) toasts: Toasts,
    pub(super) api: Result<SharedApi, Problem>,
    go: Go,
}

impl Dialogs {
    fn new() -> Self {
        Self {
            replaying: RwSignal::new(false),
            discarding: RwSignal::new(false),
            snoozing: RwSignal::new(false),
            editing: RwSignal::new(false),
            help: RwSignal::new(false),
            to_replay: RwSignal::new(ReplayRequest::default()),
            to_snooze: RwSignal::new(None),
            to_edit: RwSignal::new(None),
            unsent: RwSignal::new(None),
        }
    }
}

fn asked() -> Memo<PendingQuery> {
    let map = use_query_map();
    Memo::new(move |_| {
        map.with(|map| {
            let word = |name: &str| map.get(name).map(|v| v.trim().to_owned()).filter(|v| !v.is_empty());
            PendingQuery {
                filter: PendingFilter {
                    error_class: word("error_class").and_then(|w| w.parse().ok()),
                    upstream: word("upstream"),
                    source: word("source"),
                    disposition: word("disposition").and_then(|w| w.parse().ok()),
                    text: word("text"),
                },
                after: word("after").map(Cursor),
            }
        })
    })
}

async fn read(api: SharedApi, id: Option<String>) -> Result<Shown, Problem> {
    let Some(id) = id else { return Ok(None) };
    let Ok(id) = id.parse::<RecordId>() else {
        let detail = format!("{id:?} is not the id of a record.");
        return Ok(Some(Err(Problem::new(404, "not-found", "Record not found", detail))));
    };
    match api.pending_detail(id).await {
        Err(problem) if problem.status != 404 => Err(problem),
        answer => Ok(Some(answer)),
    }
}

impl Desk {
    pub(super) fn new() -> Self {
        let query = asked();
        let params = use_params_map();
        let open = Memo::new(move |_| params.with(|p| p.get("id")).filter(|id| !id.is_empty()));
        let list = use_query(move || query.get(), |api, query| async move { api.pending(query).await })
            .refetch_on(|revisions| revisions.pending);
        let detail = use_query(move || open.get(), read).refetch_on(|revisions| revisions.pending);
        let navigate = use_navigate();
        let go: Go = Arc::new(move |to: &str, scroll: bool| {
            navigate(to, NavigateOptions { scroll, ..NavigateOptions::default() });
        });
        let hands = Hands { list, detail, doing: Doing::new(), toasts: use_toasts(), api: use_api(), go };
        let desk = Self {
            text: use_text(),
            query,
            open,
            rows: RwSignal::new(Vec::new()),
            total: RwSignal::new(Count::default()),
            cursor: RwSignal::new(None),
            chosen: RwSignal::new(Vec::new()),
            all: RwSignal::new(false),
            undo: RwSignal::new(None),
            dialogs: StoredValue::new(Dialogs::new()),
            hands: StoredValue::new(hands),
        };
        // Another filter is another question: what was chosen under the old one is not meant any more.
        Effect::new(move |before: Option<PendingFilter>| {
            let filter = query.with(|q| q.filter.clone());
            if before.is_some_and(|before| before != filter) {
                desk.unselect();
                desk.cursor.set(None);
            }
            filter
        });
        desk
    }

    pub(super) fn dialogs(self) -> Dialogs {
        self.dialogs.get_value()
    }

    pub(super) fn hands(self) -> Hands {
        self.hands.get_value()
    }

    /// Goes to an address of the console.
    pub(super) fn go(self, to: &str, scroll: bool) {
        (self.hands().go)(to, scroll);
    }

    /// Does something with the API, one at a time.
    pub(super) fn act<F, T>(
        self,
        doing: Doing,
        what: impl FnOnce(SharedApi) -> F + 'static,
        done: impl FnOnce(T) + 'static,
    ) where
        F: Future<Output = Result<T, Problem>>,
        T: 'static,
    {
        let api = self.hands().api;
        doing.run(async move { what(api?).await }, done);
    }

    pub(super) fn filter(self) -> PendingFilter {
        self.query.with(|q| q.filter.clone())
    }

    pub(super) fn filter_now(self) -> PendingFilter {
        self.query.with_untracked(|q| q.filter.clone())
    }

    /// Asks for the list and the open record again.
    pub(super) fn refresh(self) {
        self.hands().list.refetch();
        self.hands().detail.refetch();
    }

    /// The record that a key means: the one under the keys, else the open one.
    pub(super) fn at_hand(self) -> Option<PendingItem> {
        let id = self.cursor.get_untracked().or_else(|| self.open.get_untracked().and_then(|id| id.parse().ok()))?;
        self.rows.with_untracked(|rows| rows.iter().find(|row| row.id == id).cloned())
    }

    pub(super) fn unselect(self) {
        self.all.set(false);
        self.chosen.set(Vec::new());
    }

    pub(super) fn is_chosen(self, id: RecordId) -> bool {
        self.all.get() || self.chosen.with(|chosen| chosen.contains(&id))
    }

    pub(super) fn choose(self, id: RecordId) {
        if self.all.get_untracked() {
            // All but this one can't be said to the server: what is left is this page.
            let rest = self.rows.with_untracked(|rows| rows.iter().map(|r| r.id).filter(|r| *r != id).collect());
            self.all.set(false);
            self.chosen.set(rest);
            return;
        }
        self.chosen.update(|chosen| match chosen.iter().position(|c| *c == id) {
            Some(at) => {
                chosen.remove(at);
            }
            None => chosen.push(id),
        });
    }

    pub(super) fn anything_chosen(self) -> bool {
        self.all.get_untracked() || self.chosen.with_untracked(|c| !c.is_empty())
    }

    /// What is chosen, as the API takes it.
    pub(super) fn selection(self) -> (PendingFilter, Option<Vec<RecordId>>) {
        let ids = (!self.all.get_untracked()).then(|| self.chosen.get_untracked());
        (self.filter_now(), ids)
    }

    pub(super) fn replay_selection(self) {
        let (filter, ids) = self.selection();
        self.dialogs().to_replay.set(ReplayRequest { filter, ids, ..ReplayRequest::default() });
        self.dialogs().replaying.set(true);
    }

    pub(super) fn replay(self, item: &PendingItem) {
        self.dialogs().to_replay.set(ReplayRequest {
            filter: standing(item.disposition),
            ids: Some(vec![item.id]),
            ..ReplayRequest::default()
        });
        self.dialogs().replaying.set(true);
    }

    pub(super) fn snooze(self, item: PendingItem) {
        self.dialogs().to_snooze.set(Some(item));
        self.dialogs().snoozing.set(true);
    }

    pub(super) fn edit(self, detail: PendingDetail) {
        self.dialogs().to_edit.set(Some(detail));
        self.dialogs().editing.set(true);
    }

    pub(super) fn discard(self, id: RecordId) {
        let text = self.text;
        self.step_off(id);
        self.act(
            self.hands().doing,
            async move |api| api.change_pending(id, PendingChange::Discard).await,
            move |_| {
                let words = (text.pending.decide.discarded)("1");
                self.undo.set(Some(Undo::Records(words, vec![id], Disposition::Discarded)));
                self.refresh();
            },
        );
    }

    /// The keys go on to the next row before this one leaves the list.
    pub(super) fn step_off(self, id: RecordId) {
        if self.cursor.get_untracked() != Some(id) {
            return;
        }
        let next = self.rows.with_untracked(|rows| {
            let at = rows.iter().position(|row| row.id == id)?;
            rows.get(at + 1).or_else(|| rows.get(at.checked_sub(1)?)).map(|row| row.id)
        });
        self.cursor.set(next);
        if let Some(next) = next {
            super::keys::focus_on(next);
        }
    }

    pub(super) fn reopen(self, ids: Vec<RecordId>, from: Disposition) {
        let text = self.text;
        let request = BulkRequest {
            filter: standing(from),
            ids: Some(ids),
            all: false,
            action: BulkAction::Reopen,
            dry_run: false,
        };
        self.act(
            self.hands().doing,
            async move |api| api.bulk_pending(request).await,
            move |outcome| {
                self.undo.set(None);
                self.unselect();
                self.hands().toasts.say((text.pending.decide.reopened)(&text.number(outcome.changed)));
                self.refresh();
            },
        );
    }

    pub(super) fn reopen_selection(self) {
        let (filter, ids) = self.selection();
        let text = self.text;
        let request = BulkRequest { filter, ids, all: true, action: BulkAction::Reopen, dry_run: false };
        self.act(
            self.hands().doing,
            async move |api| api.bulk_pending(request).await,
            move |outcome| {
                self.unselect();
                self.hands().toasts.say((text.pending.decide.reopened)(&text.number(outcome.changed)));
                self.refresh();
            },
        );
    }

    /// Takes the last decision back.
    pub(super) fn take_back(self) {
        if let Some(Undo::Records(_, ids, from)) = self.undo.get_untracked() {
            self.reopen(ids, from);
        }
    }

    /// The address of a record beside the same page of the list.
    pub(super) fn record(self, id: RecordId) -> String {
        self.query.with(|query| paths::pending_record_in(id, query))
    }

    /// The address of the list alone, at the same page.
    pub(super) fn alone(self) -> String {
        self.query.with(paths::pending_page)
    }
}

/// All of a disposition.
pub(super) fn standing(disposition: Disposition) -> PendingFilter {
    PendingFilter { disposition: Some(disposition), ..PendingFilter::default() }
}
