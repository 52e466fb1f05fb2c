/**
 * The last look before saving: what resolvers will see. Saving needs the zone as it was when the first edit was made; if somebody
 * else changed it, both sides are shown (conflict.tsx).
 */
import { useEffect, useState } from 'preact/hooks';
import { ApiError, call } from '../../api.js';
import { useSending } from '../../load.js';
import { Curl } from '../../parts/curl.js';
import { Dialog } from '../../parts/dialog.js';
import { DiffLines } from '../../parts/diff.js';
import { ErrorNote, Loading } from '../../parts/notes.js';
import type { Diff, Zone } from '../../types.js';
import { Conflict } from './conflict.js';
import { batchOf, editAt, type Pending } from './pending.js';
import type { Saved } from './receipt.js';

interface ReviewProps {
  readonly zone: Zone;
  readonly pending: Pending;
  readonly onClose: () => void;
  readonly onSaved: (saved: Saved) => void;
}

const CHANGED_MEANWHILE = 412;

export function Review({ zone, pending, onClose, onSaved }: ReviewProps) {
  const { edits, etag } = pending;
  const [diff, setDiff] = useState<Diff>();
  const checking = useSending();
  const saving = useSending();
  const path = `/zones/${zone.id}/dns_records/batch`;
  const headers = etag === undefined ? {} : { 'if-match': etag };
  useEffect(() => {
    setDiff(undefined);
    void checking.run(async () => {
      const answer = await call('POST', `${path}?dry_run=true`, { body: batchOf(edits), headers });
      setDiff(answer.diff);
    });
  }, [edits, etag]);
  const save = (): void => {
    void saving.run(async () => {
      const { change, serial } = await call('POST', path, { body: batchOf(edits), headers });
      pending.clear();
      onSaved({ change, serial, at: Date.now() });
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
                What resolvers will see, all at once
                {diff.serial_to !== null && diff.serial_from !== diff.serial_to && `, as serial ${diff.serial_to}`}:
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
      <Curl request={{ method: 'POST', path, headers, body: batchOf(edits) }} />
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
