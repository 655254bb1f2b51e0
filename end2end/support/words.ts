import { type Page, expect } from '@playwright/test';

/**
 * English words of the console's own text. None of them may stand on a Chinese page; what comes from an upstream, a
 * command or an operator is not the console's text; the API's own words about a problem are marked as English. The tests'
 * data avoids these words.
 */
const english =
  /\b(Overview|Pending|Replays?|Breakers?|Quotas?|Upstreams?|Filter|Search|Save|Cancel|Close|Delete|Edit|Test|Add|Loading|Live|Copy|Discard|Snooze|Reopen|Undo|Trip|Reset|Disable|Metrics only|History|Computed|Forced|By hand|Class|Retries|Retry(?!-After)|Attempts?|Payload|Headers|Status|Suggested|Disposition|Version|Versions|Reason|Who|When|Time|Open|Closed|Half-open|open|closed|half-open|rate limited|timeout|server error|content refused|client error|Sign in|Sign out|Password|Theme|Language|Light|Dark|Main|Skip|Nothing|Accepted|Refused|Queued|Waited|Utilisation|Failures|Range|minutes?|hours?|seconds?|ago|records?|requests|calls|Show|Back|Next|First|Select|selected|match|Clear|Ended|Took|Succeeded|Failed|Skipped|Pause|Resume|required|must|from \d)\b/;

/** The text that a reader sees or hears, but for what is data or a command. */
async function texts(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const data = 'code, pre, kbd, q, script, style, noscript, .said, .what a, .brand, [lang="en"], [data-data]';
    const out: string[] = [document.title.replace('Penstock', '')];
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      const parent = walker.currentNode.parentElement;
      if (parent && !parent.closest(data)) out.push(walker.currentNode.textContent ?? '');
    }
    for (const element of document.querySelectorAll('[aria-label], [title], [placeholder], [alt]')) {
      if (element.closest(data)) continue;
      for (const name of ['aria-label', 'title', 'placeholder', 'alt']) out.push(element.getAttribute(name) ?? '');
    }
    return out.map((text) => text.trim()).filter((text) => text !== '');
  });
}

/** No text of the console's own is left in English. */
export async function expectChinese(page: Page): Promise<void> {
  const left = (await texts(page)).filter((text) => english.test(text));
  expect(left, 'nothing is left untranslated').toEqual([]);
}
