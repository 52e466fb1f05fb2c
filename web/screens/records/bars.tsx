/** What stands under the table: what is done with selected records, and with edits that are not saved. Neither hides the other. */
import type { ComponentChildren } from 'preact';
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
  const undo = hasPast && (
    <button type="button" aria-keyshortcuts="Control+Z" onClick={pending.undo}>
      Undo
    </button>
  );
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
          <button type="button" class="quiet" onClick={pending.clear}>
            Close
          </button>
        </EditsBar>
      )}
      {pending.edits.size > 0 && (
        <EditsBar said={<strong role="status">{notSaved(pending.edits)}</strong>}>
          {undo}
          <button type="button" onClick={discard}>
            Discard
          </button>
          <button type="button" class="primary" onClick={onReview}>
            Review and save
          </button>
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
