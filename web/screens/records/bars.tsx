/** What stands under the table: what is done with selected records, and with edits that are not saved. Neither hides the other. */

import type { ComponentChildren } from 'preact';
import { Button } from '../../kit/button.js';
import type { DnsRecord } from '../../types.js';
import { BulkBar } from './bulk.js';
import { notSaved } from './pending.js';
import type { RecordEdits } from './use-records.js';

interface BarsProps {
  readonly edits: RecordEdits;
  readonly total: number;
  readonly onReadAll: (onProgress: (read: number) => void) => Promise<ReadonlyMap<string, DnsRecord>>;
  readonly onReview: () => void;
}

export function Bars({ edits, total, onReadAll, onReview }: BarsProps) {
  const { pending, selected, setSelected, apply } = edits;
  const hasPast = pending.past.length > 0;
  const undo = hasPast && <Button aria-keyshortcuts="Control+Z" onClick={pending.undo} text="Undo" />;
  const discard = (): void => apply(new Map([...pending.edits.keys()].map((key) => [key, undefined])));
  if (selected.size + pending.edits.size === 0 && !hasPast) return null;
  return (
    <div class="bars">
      {selected.size > 0 && (
        <BulkBar
          selected={selected}
          edits={pending.edits}
          total={total}
          onSelectAll={async (onProgress) => setSelected(await onReadAll(onProgress))}
          onClear={() => setSelected(new Map())}
          onApply={(change) => {
            apply(change);
            setSelected(new Map());
          }}
        />
      )}
      {pending.edits.size === 0 && hasPast && (
        <EditsBar said={<span role="status">All edits are taken back</span>}>
          {undo}
          <Button class="quiet" onClick={pending.clear} text="Close" />
        </EditsBar>
      )}
      {pending.edits.size > 0 && (
        <EditsBar said={<strong role="status">{notSaved(pending.edits)}</strong>}>
          {undo}
          <Button onClick={discard} text="Discard" />
          <Button class="primary" onClick={onReview} text="Review and save" />
        </EditsBar>
      )}
    </div>
  );
}

function EditsBar({ said, children }: { readonly said: ComponentChildren; readonly children: ComponentChildren }) {
  return (
    <section class="pending" aria-label="Edits that are not saved">
      {said}
      <span class="actions">{children}</span>
    </section>
  );
}
