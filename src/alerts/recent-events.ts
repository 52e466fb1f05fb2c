/**
 * Events as policies judge them, read once for all destinations of an account: destinations that are at the same place of the log
 * share a page. Pages leave out the states of events, because a state may be long. The page that was used longest ago is dropped, and is
 * read again when needed.
 */
import type { Store } from '../store/driver.js';
import { type BriefEvent, briefEventsBetween } from '../store/log/events-query.js';

const PAGE_EVENTS = 512;
/** Events that a destination judges at once. */
const JUDGED_AT_ONCE = 100;
const MOST_PAGES = 4;
/** Accounts whose pages are kept; an account whose policies also see events of the installation may count twice. */
const MOST_ACCOUNTS = 64;

/** All events that the account sees behind `from`, up to and including `upTo`. */
interface Page {
  readonly from: number;
  upTo: number;
  readonly events: BriefEvent[];
}

export interface Behind {
  readonly events: readonly BriefEvent[];
  /** There are no other events up to this number. */
  readonly upTo: number;
}

/** Selects the events of an account and, with `installation`, those that belong to no account. */
export interface Seen {
  readonly account: number;
  readonly installation: boolean;
}

export class RecentEvents {
  /** In the order of their last use, like the pages of each. */
  private readonly accounts = new Map<string, Page[]>();

  constructor(private readonly store: Store) {}

  /** The next events behind a position, up to `newest`: later ones may be for policies that are not known yet. */
  behind(seen: Seen, position: number, newest: number): Behind {
    const pages = this.pagesOf(`${seen.account} ${seen.installation}`);
    for (let at = position; at < newest; ) {
      const page = this.pageAt(pages, seen, at, newest);
      const first = firstBehind(page.events, at);
      const events = page.events.slice(first, first + JUDGED_AT_ONCE);
      const isLast = first + events.length === page.events.length;
      if (events.length > 0) return { events, upTo: isLast ? page.upTo : events.at(-1)!.seq };
      at = page.upTo;
    }
    return { events: [], upTo: Math.max(position, newest) };
  }

  private pagesOf(key: string): Page[] {
    const pages = this.accounts.get(key) ?? [];
    this.accounts.delete(key);
    this.accounts.set(key, pages);
    if (this.accounts.size > MOST_ACCOUNTS) this.accounts.delete(this.accounts.keys().next().value!);
    return pages;
  }

  /** A page that reaches further than `at`. */
  private pageAt(pages: Page[], seen: Seen, at: number, newest: number): Page {
    const place = pages.findIndex(({ from, upTo, events }) => {
      return from <= at && (at < upTo || (at === upTo && events.length < PAGE_EVENTS));
    });
    const page = place < 0 ? { from: at, upTo: at, events: [] } : pages.splice(place, 1)[0]!;
    const room = PAGE_EVENTS - page.events.length;
    if (page.upTo < newest && room > 0) {
      const rows = briefEventsBetween(this.store, seen, { behind: page.upTo, upTo: newest, limit: room });
      page.events.push(...rows);
      page.upTo = rows.length === room ? rows.at(-1)!.seq : newest;
    }
    pages.push(page);
    if (pages.length > MOST_PAGES) pages.shift();
    return page;
  }
}

/** The place of the first event behind a position; events are in the order of their numbers. */
function firstBehind(events: readonly BriefEvent[], position: number): number {
  let low = 0;
  for (let high = events.length; low < high; ) {
    const middle = (low + high) >> 1;
    if (events[middle]!.seq > position) high = middle;
    else low = middle + 1;
  }
  return low;
}
