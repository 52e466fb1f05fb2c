/**
 * The last look before saving: what resolvers will see. Saving needs the zone as it was when the first edit was made; if somebody
 * else changed it, both sides are shown (conflict.tsx).
 */
import { useEffect, useMemo, useState } from 'preact/hooks';
import { ApiError, call } from '../../api.js';
import { useSending } from '../../load.js';
import { Curl } from '../../parts/curl.js';
import { Dialog } from '../../parts/dialog.js';
import { DiffLines } from '../../parts/diff.js';
import { ErrorNote, Loading } from '../../parts/notes.js';
import type { Diff, Zone } from '../../types.js';
import { Conflict } from './conflict.js';
import { batchOf, type Edits, editAt, type Pending } from './pending.js';
import type { Saved } from './receipt.js';

interface ReviewProps {
  readonly zone: Zone;
  readonly pending: Pending;
  readonly onClose: () => void;
  readonly onSaved: (saved: Saved) => void;
}

const CHANGED_MEANWHILE = 412;
/** What the server takes in one change. */
const MOST_AT_ONCE = 3500;

/** The edits in parts that the server takes, deletions first, so that what is made anew finds its place free. */
function partsOf(edits: Edits): Edits[] {
  if (edits.size <= MOST_AT_ONCE) return [edits];
  const order = { delete: 0, change: 1, create: 2 };
  const sorted = [...edits].sort(([, a], [, b]) => order[a.kind] - order[b.kind]);
  const parts: Edits[] = [];
  for (let at = 0; at < sorted.length; at += MOST_AT_ONCE) parts.push(new Map(sorted.slice(at, at + MOST_AT_ONCE)));
  return parts;
}

function joined(diffs: readonly Diff[]): Diff | undefined {
  const [first] = diffs;
  return (
    first && {
      ...first,
      removed: diffs.flatMap(({ removed }) => removed),
      added: diffs.flatMap(({ added }) => added),
      complete: diffs.every(({ complete }) => complete),
    }
  );
}

export function Review({ zone, pending, onClose, onSaved }: ReviewProps) {
  const { edits, etag } = pending;
  const [diff, setDiff] = useState<Diff>();
  const checking = useSending();
  const saving = useSending();
  const path = `/zones/${zone.id}/dns_records/batch`;
  const headers = etag === undefined ? {} : { 'if-match': etag };
  const parts = useMemo(() => partsOf(edits), [edits]);
  useEffect(() => {
    // All of them are saved.
    if (edits.size === 0) return;
    setDiff(undefined);
    void checking.run(async () => {
      const diffs: Diff[] = [];
      for (const part of parts) {
        const { diff: found } = await call('POST', `${path}?dry_run=true`, { body: batchOf(part), headers });
        if (found) diffs.push(found);
      }
      setDiff(joined(diffs));
    });
  }, [edits, etag]);
  const save = (): void => {
    void saving.run(async () => {
      let tag = etag;
      let saved: Saved = { change: undefined, serial: undefined, at: Date.now() };
      for (const [index, part] of parts.entries()) {
        const match = tag === undefined ? {} : { 'if-match': tag };
        const { change, serial, etag: next } = await call('POST', path, { body: batchOf(part), headers: match });
        tag = next;
        saved = { ...saved, ...(change !== undefined && { change, serial }) };
        // What is saved is not pending any more, whatever becomes of the rest.
        pending.rebase(new Map(parts.slice(index + 1).flatMap((rest) => [...rest])), tag);
      }
      onSaved(saved);
    });
  };
  const error = saving.error ?? checking.error;
  const title = edits.size === 1 ? 'Review 1 edit' : `Review ${edits.size.toLocaleString('en')} edits`;
  return (
    <Dialog title={title} onClose={onClose}>
      {error?.status === CHANGED_MEANWHILE ? (
        <Conflict zone={zone} pending={pending} onSolved={saving.clear} />
      ) : (
        <>
          {error && <ErrorNote error={explained(error, pending)} />}
          {checking.busy && <Loading what="the difference" />}
          {diff && (
            <>
              <p class="muted">
                {parts.length === 1
                  ? 'What resolvers will see, all at once'
                  : `The server takes ${MOST_AT_ONCE.toLocaleString('en')} edits at once, so these are saved in ${parts.length} changes`}
                {parts.length === 1 && diff.serial_from !== diff.serial_to && `, as serial ${diff.serial_to}`}:
              </p>
              <DiffLines diff={diff} />
            </>
          )}
        </>
      )}
      <div class="dialog-actions" hidden={error?.status === CHANGED_MEANWHILE}>
        <button type="button" class="primary" disabled={!diff || saving.busy || checking.busy} onClick={save}>
          {saving.busy ? 'Saving…' : 'Save'}
        </button>
        <button type="button" onClick={onClose}>
          Not yet
        </button>
      </div>
      <Curl request={() => ({ method: 'POST', path, headers, body: batchOf(parts[0]!) })} />
    </Dialog>
  );
}

/** A refusal with the name of the record that it is about. */
function explained(error: ApiError, { edits }: Pending): ApiError {
  const errors = error.errors.map((item) => {
    const found = item.source && editAt(edits, item.source.pointer);
    const edit = found && edits.get(found.key);
    if (!edit) return item;
    const { name, type } = edit.kind === 'delete' ? edit.before : edit.body;
    return { ...item, message: `${name} ${type}: ${item.message}` };
  });
  return new ApiError(error.status, errors);
}
