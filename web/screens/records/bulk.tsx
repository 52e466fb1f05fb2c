/** What can be done with all selected records at once. It becomes edits, like everything else. */

import { useState } from 'preact/hooks';
import { Button } from '../../kit/button.js';
import { useSending } from '../../load.js';
import { count } from '../../parts/count.js';
import type { DnsRecord } from '../../types.js';
import { ttlChoices } from './form-values.js';
import { bodyOf, changeOf, type Edit, type Edits, type RecordBody } from './pending.js';

interface BulkBarProps {
  readonly selected: ReadonlyMap<string, DnsRecord>;
  readonly edits: Edits;
  /** Records that the filters match, on all pages. */
  readonly total: number;
  /** Reads them; says how many are read. */
  readonly onSelectAll: (onProgress: (read: number) => void) => Promise<void>;
  readonly onClear: () => void;
  readonly onApply: (changes: ReadonlyMap<string, Edit | undefined>) => void;
}

/** Edits that are made at a time; in between, the page reacts. */
const SLICE = 2000;

function nextTask(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve));
}

export function BulkBar({ selected, edits, total, onSelectAll, onClear, onApply }: BulkBarProps) {
  const reading = useSending();
  const making = useSending();
  const [tag, setTag] = useState('');
  const [read, setRead] = useState(0);
  const change = (alter: (body: RecordBody, before: DnsRecord) => RecordBody): void => {
    void making.run(async () => {
      const changes = new Map<string, Edit | undefined>();
      for (const [id, before] of selected) {
        const edit = edits.get(id);
        const body = edit?.kind === 'change' ? edit.body : bodyOf(before);
        changes.set(id, changeOf(before, alter(body, before)));
        if (changes.size % SLICE === 0) await nextTask();
      }
      await nextTask();
      onApply(changes);
    });
  };
  const remove = (): void =>
    onApply(new Map([...selected].map(([id, before]) => [id, { kind: 'delete', before } as const])));
  return (
    <section class="pending" aria-label="Selected records" inert={making.busy}>
      <strong role="status">{count(selected.size)} selected</strong>
      {selected.size < total && (
        <Button
          class="quiet"
          disabled={reading.busy}
          onClick={() => void reading.run(() => onSelectAll(setRead))}
          text={reading.busy ? `Reading… ${count(read)}` : `Select all ${count(total)}`}
        />
      )}
      {reading.error && <span class="problem">{reading.error.message}</span>}
      <span class="actions">
        <label class="select">
          <span class="hidden">TTL of the selected</span>
          <select
            value=""
            onChange={(event) => {
              const ttl = Number(event.currentTarget.value);
              change((body) => ({ ...body, ttl }));
            }}
          >
            <option value="" disabled>
              Set TTL
            </option>
            {ttlChoices(1).map(([seconds, text]) => (
              <option key={seconds} value={seconds}>
                {text}
              </option>
            ))}
          </select>
        </label>
        <Button
          onClick={() =>
            change((body, { proxiable }) => ({
              ...body,
              proxied: proxiable,
              ...(proxiable && body.ptr && { ptr: false }),
            }))
          }
          text="Proxy"
        />
        <Button onClick={() => change((body) => ({ ...body, proxied: false }))} text="DNS only" />
        <form
          class="add-tag"
          onSubmit={(event) => {
            event.preventDefault();
            const added = tag.trim();
            if (added === '') return;
            change((body) => (body.tags.includes(added) ? body : { ...body, tags: [...body.tags, added] }));
          }}
        >
          <input
            type="text"
            aria-label="Tag for the selected, then Enter"
            placeholder="Add a tag"
            value={tag}
            onInput={(event) => setTag(event.currentTarget.value)}
          />
        </form>
        <Button class="danger" onClick={remove} text="Delete" />
        <Button class="quiet" onClick={onClear} text="Select none" />
      </span>
    </section>
  );
}
