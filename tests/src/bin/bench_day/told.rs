//! The figures as they are printed, and the goals.

use std::process::ExitCode;
use std::time::Duration;

use crate::Plan;
use crate::look::{Ends, Look, PAGES, Times};

const MB: f64 = 1_048_576.0;
/// What is over may be there until the sweep has come twice.
const SWEPT_WITHIN_S: f64 = 60.0;
const MOST_RSS: f64 = 200.0;
const MOST_PAGE_MS: f64 = 100.0;

/// Everything that was measured.
#[derive(Debug)]
pub(crate) struct Told {
    /// Empty, begin, two thirds, end, real pace.
    pub(crate) looks: Vec<Look>,
    /// The start with a day's remains.
    pub(crate) started: Duration,
    pub(crate) lasted: Duration,
    pub(crate) ends: Ends,
    pub(crate) parts: Vec<(String, i64)>,
}

impl Told {
    pub(crate) fn print(&self, plan: &Plan) -> ExitCode {
        let [_, _, middle, end, pace] = self.looks.as_slice() else { return ExitCode::FAILURE };
        let hours = self.lasted.as_secs_f64() * plan.factor / 3_600.0;
        println!(
            "a day of 600 tiles a minute, {:.0} times as fast: {:.0} tiles of 58 kB a second for {:.0} s, {hours:.1} h of the day",
            plan.factor,
            plan.rate(),
            self.lasted.as_secs_f64()
        );
        println!(
            "on top of the {} records of the {:.1} h before, laid in as copies of rows that the server wrote; results are kept \
             for so long, which is {:.0} s",
            plan.records,
            plan.day().as_secs_f64() * plan.factor / 3_600.0,
            plan.day().as_secs_f64()
        );
        println!("samples, 8 days of two upstreams, are laid in at their real times; rows are not scaled down");
        println!();
        self.table();
        println!();
        for (name, bytes) in &self.parts {
            println!("{name:32} {:>10.1} MB", *bytes as f64 / MB);
        }
        println!();
        let ends = &self.ends;
        println!("start with a day's remains: {:.2} s", self.started.as_secs_f64());
        println!(
            "brought {} (rejected {}, put off {} posts of 50): succeeded {} (kept {}), pending {}, not ended {}; {} calls failed",
            ends.accepted,
            ends.rejected,
            ends.put_off,
            ends.succeeded,
            ends.kept,
            ends.pending,
            ends.unended,
            ends.failed
        );
        println!();
        let missed = self.missed(plan, middle, end, pace);
        if plan.check {
            for sentence in &missed {
                eprintln!("bench day: {sentence}");
            }
        }
        println!(
            "database = {:.0} MB ({:.2} of two thirds), {:.0} bytes/record, RSS = {:.0} MB, slowest page's median = {:.0} ms, \
             oldest = {:.2} of its time, {:.0} records/s",
            end.size() as f64 / MB,
            end.size() as f64 / middle.size() as f64,
            end.bytes_each(),
            end.rss as f64 / MB,
            pace.pages.iter().map(|page| page.median).fold(0.0, f64::max),
            end.oldest_s / plan.day().as_secs_f64(),
            ends.succeeded as f64 / self.lasted.as_secs_f64()
        );
        if plan.check && !missed.is_empty() { ExitCode::FAILURE } else { ExitCode::SUCCESS }
    }

    fn table(&self) {
        let row = |name: &str, show: &dyn Fn(&Look) -> String| {
            let cells: String = self.looks.iter().map(|look| format!(" {:>14}", show(look))).collect();
            println!("{name:58}{cells}");
        };
        let times =
            |times: Option<&Times>| times.map_or_else(|| "-".to_owned(), |t| format!("{:.1} / {:.0}", t.median, t.max));
        row("", &|look| look.name.to_owned());
        row("database file, MB", &|look| format!("{:.1}", look.file as f64 / MB));
        row("  of it free for new rows", &|look| format!("{:.1}", look.free as f64 / MB));
        row("write-ahead log, MB", &|look| format!("{:.1}", look.wal as f64 / MB));
        row("bytes in use for each record", &|look| format!("{:.0}", look.bytes_each()));
        row("RSS, MB", &|look| format!("{:.1}", look.rss as f64 / MB));
        row("records: succeeded", &|look| look.succeeded.to_string());
        row("  pending", &|look| look.pending.to_string());
        row("  waiting or in flight", &|look| look.unended.to_string());
        row("oldest succeeded, s", &|look| format!("{:.0}", look.oldest_s));
        row("samples", &|look| look.samples.to_string());
        row("50 records posted, ms: median / max", &|look| times(look.posts.as_ref()));
        for (place, page) in PAGES.iter().enumerate() {
            row(&format!("GET {page}"), &|look| times(look.pages.get(place)));
        }
    }

    /// Which goals are missed, each as a sentence.
    fn missed(&self, plan: &Plan, middle: &Look, end: &Look, pace: &Look) -> Vec<String> {
        let mut missed = Vec::new();
        let mut goal = |met: bool, sentence: String| {
            if !met {
                missed.push(sentence);
            }
        };
        let (was, is) = (middle.size() as f64 / MB, end.size() as f64 / MB);
        goal(
            is <= was * 1.25,
            format!(
                "The database has {is:.0} MB, {:.2} times what it had at two thirds; at most 1.25 is allowed.",
                is / was
            ),
        );
        let most = plan.records as f64 * 1.05 + plan.rate() * SWEPT_WITHIN_S;
        goal(
            end.succeeded as f64 <= most,
            format!("{} succeeded records are kept; at most {most:.0} should be.", end.succeeded),
        );
        let allowed = plan.day().as_secs_f64() + SWEPT_WITHIN_S;
        goal(
            end.oldest_s <= allowed,
            format!("The oldest result is {:.0} s old; it should have gone by {allowed:.0} s.", end.oldest_s),
        );
        let (was, is) = (middle.rss as f64 / MB, end.rss as f64 / MB);
        goal(is < MOST_RSS, format!("RSS is {is:.0} MB; below {MOST_RSS:.0} is wanted."));
        goal(
            is <= was * 1.2,
            format!("RSS grew from {was:.0} MB at two thirds to {is:.0} MB; at most 20% is allowed."),
        );
        for (page, times) in PAGES.iter().zip(&pace.pages) {
            goal(
                times.median < MOST_PAGE_MS,
                format!("GET {page} takes {:.0} ms; below {MOST_PAGE_MS:.0} is wanted.", times.median),
            );
        }
        let ends = &self.ends;
        goal(
            ends.add_up() && ends.rejected == 0,
            format!(
                "{} records were accepted and {} rejected; {} succeeded, {} are pending, {} have not ended: that does not add up.",
                ends.accepted, ends.rejected, ends.succeeded, ends.pending, ends.unended
            ),
        );
        missed
    }
}
