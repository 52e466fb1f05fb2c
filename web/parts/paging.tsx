/** Pages of a list: the page stands in the address. */

import { Link, withQuery } from '../router.js';
import type { ResultInfo } from '../types.js';
import { count } from './count.js';
import { Empty } from './notes.js';

interface PagingProps {
  readonly info: ResultInfo;
  /** What the list has: one, and several. */
  readonly nouns: readonly [one: string, several: string];
}

export function Paging({ info, nouns: [one, several] }: PagingProps) {
  const { page, per_page: size, count: shown, total_count: total, total_pages: pages } = info;
  // What is empty says so itself.
  if (total === 0) return null;
  const first = (page - 1) * size + 1;
  const noun = total === 1 ? one : several;
  const text =
    total === 1 || shown === 0
      ? `${count(total)} ${noun}`
      : `${count(first)}–${count(first + shown - 1)} of ${count(total)} ${noun}`;
  return (
    <nav class="paging" aria-label="Pages">
      <span>{text}</span>
      {pages > 1 && (
        <span class="pages">
          <PageLink to={page - 1} enabled={page > 1} label="Previous page" sign="‹" />
          <span class="page-number">
            {count(page)} / {count(pages)}
          </span>
          <PageLink to={page + 1} enabled={page < pages} label="Next page" sign="›" />
        </span>
      )}
    </nav>
  );
}

/** Whether a list has no such page, although it has others: the address is old, or somebody removed the rest. */
export function isPastEnd(info: ResultInfo | undefined): boolean {
  return info !== undefined && info.count === 0 && info.total_count > 0;
}

/** What stands there instead of rows. */
export function PastEnd() {
  return (
    <Empty title="This page does not exist any more">
      <p>
        The list has become shorter. <Link href={withQuery({ page: undefined })}>Show its first page</Link>
      </p>
    </Empty>
  );
}

interface PageLinkProps {
  readonly to: number;
  readonly enabled: boolean;
  readonly label: string;
  readonly sign: string;
}

function PageLink({ to, enabled, label, sign }: PageLinkProps) {
  if (!enabled) {
    return (
      <span class="page-link" aria-hidden="true">
        {sign}
      </span>
    );
  }
  return (
    <Link class="page-link" href={withQuery({ page: to === 1 ? undefined : String(to) })} aria-label={label}>
      {sign}
    </Link>
  );
}
