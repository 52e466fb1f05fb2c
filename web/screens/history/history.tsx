/** Who changed a zone, when, and how; the records of any moment; the way back. */

import { useState } from 'preact/hooks';
import { ApiError, call, pathWith } from '../../api.js';
import { Button } from '../../kit/button.js';
import { ListState, ListTable } from '../../kit/list.js';
import { useLoad, useSending } from '../../load.js';
import { Curl } from '../../parts/curl.js';
import { Dialog } from '../../parts/dialog.js';
import { DiffLines } from '../../parts/diff.js';
import { Empty, ErrorNote, Loading } from '../../parts/notes.js';
import { isPastEnd, Paging, PastEnd } from '../../parts/paging.js';
import { Receipt, type Saved } from '../../parts/receipt.js';
import { contentText, printTtl } from '../../parts/record.js';
import { RowHead } from '../../parts/table.js';
import { Time } from '../../parts/time.js';
import { Who } from '../../parts/who.js';
import { go, Link, usePlace, withQuery } from '../../router.js';
import type { ZoneScreenProps } from '../../screen.js';
import { mayWrite, usePermissions } from '../../session.js';
import type { Diff, DnsRecord, Zone, ZoneEdit, ZoneRestore } from '../../types.js';

const PER_PAGE = 20;
const KINDS: Readonly<Record<ZoneEdit['kind'], string>> = {
  added: 'The zone was added',
  records: 'Records changed',
  settings: 'Settings changed',
  replaced: 'All records were replaced',
};

const EVENTS: Readonly<Record<NonNullable<ZoneEdit['event']>, string>> = {
  served: 'The zone went into service',
  withdrawn: 'The zone went out of service',
  signing: 'DNSSEC was switched on: signatures are being made',
  signed: 'DNSSEC: the zone is served with signatures',
  unsigned: 'DNSSEC: the zone is served without signatures',
};

/** What somebody did, in words. */
function wordsOf({ kind, event }: ZoneEdit): string {
  return kind === 'added' || event === null ? KINDS[kind] : EVENTS[event];
}

export default function History({ zone }: ZoneScreenProps) {
  const { query } = usePlace();
  const path = pathWith(`/zones/${zone.id}/history`, { page: query.get('page') ?? undefined, per_page: PER_PAGE });
  const { answer, error, busy, reload } = useLoad<ZoneEdit[]>(path);
  const [restoring, setRestoring] = useState<ZoneEdit>();
  const [saved, setSaved] = useState<Saved>();
  const editable = mayWrite(usePermissions(), 'dns');
  const at = query.get('at');
  if (at !== null) return <Moment zone={zone} at={at} />;
  return (
    <>
      {saved && <Receipt key={saved.at} zone={zone} saved={saved} onClose={() => setSaved(undefined)} />}
      <ListState loaded={{ answer, error, reload }} what="the history" />
      {isPastEnd(answer?.info) && <PastEnd />}
      {answer?.result.length === 0 && !isPastEnd(answer.info) && (
        <Empty title="Nothing has changed yet">
          <p>Every change of this zone will be listed here, and can be undone.</p>
        </Empty>
      )}
      <ol class="timeline" aria-busy={busy}>
        {answer?.result.map((edit, index) => (
          <li key={edit.id}>
            <article class="panel">
              <div class="change-head">
                <h2>{wordsOf(edit)}</h2>
                <span class="muted">
                  <Time at={edit.created_on} /> by <Who email={edit.actor.email} /> · {edit.source} · serial{' '}
                  {edit.serial_to}
                </span>
                <span class="actions">
                  <Link class="button" href={withQuery({ at: edit.id, page: undefined })}>
                    Records at that time
                  </Link>
                  {editable && !(index === 0 && answer.info?.page === 1) && (
                    <Button onClick={() => setRestoring(edit)} text="Restore" />
                  )}
                </span>
              </div>
              {isListed(edit) ? (
                <details open={edit.diff.added.length + edit.diff.removed.length <= 12}>
                  <summary>{sizeOf(edit.diff)}</summary>
                  <DiffLines diff={edit.diff} of={`serial ${edit.serial_to}`} />
                </details>
              ) : (
                <p class="muted">
                  {edit.diff.complete
                    ? 'Nothing changed for resolvers.'
                    : 'The whole zone: its records are not listed here.'}
                </p>
              )}
            </article>
          </li>
        ))}
      </ol>
      {answer?.info && <Paging info={answer.info} nouns={['change', 'changes']} />}
      {restoring && (
        <Restore
          zone={zone}
          edit={restoring}
          onClose={() => setRestoring(undefined)}
          onDone={(done) => {
            setRestoring(undefined);
            setSaved(done);
            reload();
          }}
        />
      )}
      <Curl request={{ method: 'GET', path }} />
    </>
  );
}

/** Of what concerns the whole zone, nothing but the SOA record may be known. */
function isListed({ event, diff: { added, removed, complete } }: ZoneEdit): boolean {
  return added.length + removed.length > 0 && (event === null || complete);
}

function sizeOf({ added, removed, complete }: Pick<Diff, 'added' | 'removed' | 'complete'>): string {
  return `${removed.length} removed, ${added.length} added${complete ? '' : ', not all listed'}`;
}

const CHANGED_MEANWHILE = 412;

function ifMatch(etag: string | undefined): Readonly<Record<string, string>> {
  return etag === undefined ? {} : { 'if-match': etag };
}

interface RestoreProps {
  readonly zone: Zone;
  readonly edit: ZoneEdit;
  readonly onClose: () => void;
  readonly onDone: (saved: Saved) => void;
}

/** The way back to the state right after a change, with a look at the difference first. */
function Restore({ zone, edit, onClose, onDone }: RestoreProps) {
  const path = `/zones/${zone.id}/history/${encodeURIComponent(edit.id)}/restore`;
  const [preview, setPreview] = useState<Diff>();
  const [started, setStarted] = useState(false);
  // The state of the zone that was compared: another one would become something else than what was shown.
  const [etag, setEtag] = useState<string>();
  const looking = useSending();
  const saving = useSending();
  const look = (): void => {
    saving.clear();
    setPreview(undefined);
    void looking.run(async () => {
      const present = (await call('GET', `/zones/${zone.id}`)).etag;
      const { diff } = await call<ZoneRestore>('POST', `${path}?dry_run=true`, { headers: ifMatch(present) });
      setEtag(present);
      setPreview(diff);
    });
  };
  if (!started) {
    setStarted(true);
    look();
  }
  const restore = (): void => {
    void saving.run(async () => {
      const { change, serial } = await call<ZoneRestore>('POST', path, { headers: ifMatch(etag) });
      onDone({ change, serial, at: Date.now() });
    });
  };
  const error = saving.error ?? looking.error;
  const isConflict = error?.status === CHANGED_MEANWHILE;
  return (
    <Dialog title="Restore the records" onClose={onClose}>
      <p>
        The records become what they were after the change of <Time at={edit.created_on} exact />. It is a change of its
        own, so it can be undone as well.
      </p>
      {isConflict && (
        <ErrorNote
          error={new ApiError(CHANGED_MEANWHILE, [{ code: 0, message: 'Somebody changed the zone meanwhile.' }])}
          onRetry={look}
        />
      )}
      {error && !isConflict && <ErrorNote error={error} onRetry={look} />}
      {looking.busy && <Loading what="the difference" />}
      {preview && <DiffLines diff={preview} />}
      <div class="dialog-actions">
        <Button
          class="primary"
          disabled={!preview || saving.busy || error !== undefined}
          onClick={restore}
          text={saving.busy ? 'Restoring…' : 'Restore'}
        />
        <Button onClick={onClose} text="Cancel" />
      </div>
      <Curl request={{ method: 'POST', path }} />
    </Dialog>
  );
}

/** The records as they were right after a change. */
function Moment({ zone, at }: { readonly zone: Zone; readonly at: string }) {
  const { query } = usePlace();
  const page = query.get('page') ?? undefined;
  const path = pathWith(`/zones/${zone.id}/dns_records`, { as_of: at, page, per_page: 100 });
  const { answer, error, busy, reload } = useLoad<DnsRecord[]>(path);
  const edit = useLoad<ZoneEdit>(`/zones/${zone.id}/history/${encodeURIComponent(at)}`).answer?.result;
  return (
    <>
      <div class="note">
        <p>
          The records as they were right after {edit ? 'the change of ' : 'a change'}
          {edit && (
            <>
              <Time at={edit.created_on} exact /> by <Who email={edit.actor.email} />, serial {edit.serial_to}
            </>
          )}
          .
        </p>
        <Button
          class="quiet"
          onClick={() => go(withQuery({ at: undefined, page: undefined }))}
          text="Back to the history"
        />
      </div>
      <ListState loaded={{ answer, error, reload }} what="the records of that moment" />
      {answer && (
        <ListTable
          label="Records of that moment"
          busy={busy}
          columns={['Name', 'Type', 'Content', 'TTL']}
          items={answer.result}
          keyOf={({ id }) => id}
          row={(record) => (
            <tr>
              <RowHead class="mono" value={record.name} />
              <td>{record.type}</td>
              <td class="content-cell">
                <span class="mono content" title={contentText(record)}>
                  {contentText(record)}
                </span>
              </td>
              <td class="muted nowrap">{printTtl(record.ttl)}</td>
            </tr>
          )}
        />
      )}
      {answer?.info && <Paging info={answer.info} nouns={['record', 'records']} />}
      <Curl request={{ method: 'GET', path }} />
    </>
  );
}
