/** A difference as resolvers see it: the lines of a zone file that go and that come. */

import type { Diff } from '../types.js';
import { count } from './count.js';

/** Lines that are shown of each kind. */
const MOST_LINES = 400;

interface DiffProps {
  readonly diff: Pick<Diff, 'removed' | 'added' | 'complete'>;
  /** Which one it is, where a page has several. */
  readonly of?: string;
}

export function DiffLines({ diff: { removed, added, complete }, of }: DiffProps) {
  if (removed.length + added.length === 0) {
    return (
      <p class="muted">{complete ? 'Nothing changes for resolvers.' : 'The difference is too large to be listed.'}</p>
    );
  }
  const lines = [
    ...removed.slice(0, MOST_LINES).map((text) => ({ text, sign: '−', kind: 'removed' })),
    ...added.slice(0, MOST_LINES).map((text) => ({ text, sign: '+', kind: 'added' })),
  ].sort((a, b) => (ownerOf(a.text) < ownerOf(b.text) ? -1 : ownerOf(a.text) > ownerOf(b.text) ? 1 : 0));
  const more = Math.max(0, removed.length - MOST_LINES) + Math.max(0, added.length - MOST_LINES);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
    <section class="diff" aria-label={of ? `Difference for resolvers: ${of}` : 'Difference for resolvers'} tabIndex={0}>
      {lines.map(({ text, sign, kind }) => (
        <div key={`${kind} ${text}`} class={kind}>
          <span aria-hidden="true">{sign}</span>
          <span class="hidden">{kind === 'added' ? 'Added: ' : 'Removed: '}</span>
          <code>{text.replaceAll('\t', '  ')}</code>
        </div>
      ))}
      {more > 0 && <p class="muted">and {count(more)} more lines</p>}
      {!complete && <p class="muted">The list is not complete.</p>}
    </section>
  );
}

function ownerOf(line: string): string {
  return line.slice(0, line.search(/\s/));
}
