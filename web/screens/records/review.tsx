/**
 * The last look before saving: what resolvers will see. Saving needs the zone as it was when the first edit was made; if
 * somebody else changed it, both sides are shown (conflict.tsx).
 */

import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { Button } from '../../kit/button.js';
import { useSending } from '../../load.js';
import { count } from '../../parts/count.js';
import { Curl } from '../../parts/curl.js';
import { Dialog } from '../../parts/dialog.js';
import { DiffLines } from '../../parts/diff.js';
import { ErrorNote, Loading } from '../../parts/notes.js';
import type { Saved } from '../../parts/receipt.js';
import type { Diff, Zone } from '../../types.js';
import { Conflict } from './conflict.js';
import { batchOf, type Edits, type Pending } from './pending.js';
import { checkParts, MOST_AT_ONCE, partsOf, saveParts } from './saving.js';

interface ReviewProps {
  readonly zone: Zone;
  readonly pending: Pending;
  readonly onClose: () => void;
  readonly onSaved: (saved: Saved) => void;
}

const CHANGED_MEANWHILE = 412;

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

const edits = (some: number): string => (some === 1 ? '1 edit' : `${count(some)} edits`);

export function Review({ zone, pending, onClose, onSaved }: ReviewProps) {
  const path = `/zones/${zone.id}/dns_records/batch`;
  const { etag } = pending;
  const headers = etag === undefined ? {} : { 'if-match': etag };
  const parts = useMemo(() => partsOf(pending.edits), [pending.edits]);
  const { saving, started, stop, save } = useSave(path, pending, parts, onSaved);
  const { diff, checking, checked, again } = useDifference(path, pending, parts, saving.busy);
  // Why saving failed says nothing any more once the edits are checked anew.
  const retry = (): void => {
    saving.clear();
    again();
  };
  const error = saving.error ?? checking.error;
  const isConflict = error?.status === CHANGED_MEANWHILE;
  const close = saving.busy ? stop : onClose;
  return (
    <Dialog title={`Review ${edits(started ?? pending.edits.size)}`} onClose={close}>
      {!saving.busy && started !== undefined && started > pending.edits.size && (
        <div class="note note-wait" role="status">
          <p>
            {count(started - pending.edits.size)} of {edits(started)} are saved. The other {count(pending.edits.size)}{' '}
            are not: they stay here, and can be saved again.
          </p>
        </div>
      )}
      {isConflict && <Conflict zone={zone} pending={pending} onSolved={saving.clear} />}
      {!isConflict && error && <ErrorNote error={error} {...(checking.error && { onRetry: retry })} />}
      {!isConflict && checking.busy && parts.length === 1 && <Loading what="the difference" />}
      {!isConflict && checking.busy && parts.length > 1 && (
        <Progress done={checked} total={pending.edits.size} verb="checked" />
      )}
      {saving.busy && parts.length + pending.edits.size > 1 && started !== undefined && (
        <Progress done={started - pending.edits.size} total={started} verb="saved" />
      )}
      {!isConflict && !saving.busy && diff && (
        <>
          <p class="muted">{introduction(parts.length, diff)}</p>
          <DiffLines diff={diff} />
        </>
      )}
      <div class="dialog-actions" hidden={isConflict}>
        <Button
          class="primary"
          disabled={!diff || saving.busy || checking.busy}
          onClick={save}
          text={saving.busy ? 'Saving…' : 'Save'}
        />
        <Button onClick={close} text={saving.busy ? 'Stop after this change' : 'Not yet'} />
      </div>
      <Curl request={() => ({ method: 'POST', path, headers, body: batchOf(parts[0]!) })} />
    </Dialog>
  );
}

function introduction(changes: number, { serial_from: from, serial_to: to }: Diff): string {
  if (changes === 1) return `What resolvers will see, all at once${from === to ? '' : `, as serial ${to}`}:`;
  return (
    `The server takes ${count(MOST_AT_ONCE)} edits in one change, so these are saved in ${changes} changes, one after the other. ` +
    'Each is complete or not done, and all edits of a name are in the same. If one is refused, those before it stay saved, and the rest stays here.'
  );
}

interface ProgressProps {
  readonly done: number;
  readonly total: number;
  /** What is done with the edits. */
  readonly verb: 'checked' | 'saved';
}

function Progress({ done, total, verb }: ProgressProps) {
  return (
    <p class="transfer" role="status">
      <progress max={total} value={done} aria-label={`Edits that are ${verb}`} />
      <span>
        {count(done)} of {count(total)} {verb}
      </span>
    </p>
  );
}

/** What resolvers would see; read again when the edits change otherwise than by being saved. */
function useDifference(path: string, { edits, etag }: Pending, parts: readonly Edits[], isSaving: boolean) {
  const [diff, setDiff] = useState<Diff>();
  const [checked, setChecked] = useState(0);
  const [turn, setTurn] = useState(0);
  const checking = useSending();
  useEffect(() => {
    if (edits.size === 0 || isSaving) return;
    setDiff(undefined);
    setChecked(0);
    const ended = new AbortController();
    const { signal } = ended;
    void checking.run(async () => {
      try {
        const onPart = (part: Edits): void => setChecked((before) => before + part.size);
        setDiff(joined(await checkParts({ path, parts, etag, signal, onPart })));
      } catch (error) {
        const isWanted = !signal.aborted;
        ended.abort();
        if (isWanted) throw error;
      }
    });
    return () => ended.abort();
  }, [edits, etag, isSaving, turn]);
  return { diff, checking, checked, again: () => setTurn((before) => before + 1) };
}

/** `started`: how many edits there were when saving began; undefined before. */
function useSave(path: string, pending: Pending, parts: readonly Edits[], onSaved: (saved: Saved) => void) {
  const saving = useSending();
  const [started, setStarted] = useState<number>();
  const wanted = useRef(true);
  const save = (): void => {
    setStarted(pending.edits.size);
    wanted.current = true;
    void saving.run(async () => {
      let left = pending.edits.size;
      const saved = await saveParts({
        path,
        parts,
        etag: pending.etag,
        wanted: () => wanted.current,
        onPart: (rest, etag) => {
          left = rest.size;
          pending.rebase(rest, etag);
        },
      });
      if (left === 0) onSaved(saved);
    });
  };
  const stop = (): void => {
    wanted.current = false;
  };
  return { saving, started, stop, save };
}
