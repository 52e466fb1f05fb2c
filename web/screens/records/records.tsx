/**
 * The records of a zone. Edits are collected (pending.ts); nothing is sent before the difference for resolvers has been
 * reviewed, and then all of it at once.
 */
import { useEffect, useRef, useState } from 'preact/hooks';
import { type Answer, ApiError, call, pathWith } from '../../api.js';
import { readAhead, useLoad } from '../../load.js';
import { Curl } from '../../parts/curl.js';
import { ErrorNote, Loading } from '../../parts/notes.js';
import { isPastEnd, Paging } from '../../parts/paging.js';
import { Receipt, type Saved } from '../../parts/receipt.js';
import { RECORD_TYPES } from '../../parts/record.js';
import { sortOf } from '../../parts/sort.js';
import { asciiName } from '../../parts/zone.js';
import { go, usePlace, withQuery } from '../../router.js';
import type { ZoneScreenProps } from '../../screens.js';
import { mayWrite, usePermissions } from '../../session.js';
import type { DnsRecord, RecordType, Zone } from '../../types.js';
import { BulkBar } from './bulk.js';
import { draftsOf } from './drafts.js';
import { Editor, isCommand } from './editor.js';
import { Filters } from './filters.js';
import { valuesOf } from './form-values.js';
import { answersInOrder } from './in-order.js';
import { NoRecords } from './no-records.js';
import {
  batchOf,
  changeOf,
  type Edit,
  type Edits,
  editAt,
  newKey,
  notSaved,
  REVIEW,
  type RecordBody,
  usePending,
} from './pending.js';
import { Review } from './review.js';
import { ORDERS, RecordTable } from './table.js';

const PER_PAGE = 100;
/** Records of a page when all of them are read. */
const READ_AT_ONCE = 2000;
/** Edits that are checked together with a new one; above, only the new one is. */
const MOST_CHECKED = 300;

/** A page of the list, as the address wants it. */
function listPath(zone: Zone, query: URLSearchParams): string {
  const { order, direction } = sortOf(query, ORDERS, 'name');
  return pathWith(`/zones/${zone.id}/dns_records`, {
    ...filterOf(query),
    // As text, the apex would stand in the middle of the list.
    order: order === 'name' ? 'canonical' : order,
    direction,
    page: query.get('page') ?? undefined,
    per_page: PER_PAGE,
  });
}

export function readFirst({ zone }: ZoneScreenProps): void {
  readAhead(listPath(zone, new URLSearchParams(location.search)));
}

export default function Records({ zone, base }: ZoneScreenProps) {
  const { query } = usePlace();
  const filter = filterOf(query);
  const path = listPath(zone, query);
  const { answer, error, busy, reload } = useLoad<DnsRecord[]>(path);
  const types = useLoad<RecordType[]>(RECORD_TYPES).answer?.result;
  // Records that come from a primary are changed there.
  const permissions = usePermissions();
  const editable = mayWrite(permissions, 'dns') && types !== undefined && zone.type !== 'secondary';
  const pending = usePending(zone.id);
  const drafts = draftsOf(zone.id);
  const [open, setOpen] = useState<string>();
  const [selected, setSelected] = useState<ReadonlyMap<string, DnsRecord>>(new Map());
  // Other screens of the zone lead to the review, too.
  const isReviewing = query.has(REVIEW) && pending.edits.size > 0;
  const setReviewing = (wanted: boolean): void =>
    go(withQuery({ [REVIEW]: wanted ? '1' : undefined }), { replace: true });
  // The next edit must not open it.
  useEffect(() => {
    if (query.has(REVIEW) && pending.edits.size === 0) setReviewing(false);
  });
  const [saved, setSaved] = useState<Saved>();
  const [refused, setRefused] = useState<ApiError>();
  const apex = asciiName(zone);
  useUndoKey(pending.undo);

  const apply = (changes: ReadonlyMap<string, Edit | undefined>): void => {
    // Nobody comes back to the form of a record that is not to be.
    for (const [key, edit] of changes) if (edit === undefined || edit.kind === 'delete') drafts.delete(key);
    pending.apply(changes, answer?.etag);
  };
  const keep = async (form: string, key: string, before: DnsRecord | undefined, body: RecordBody): Promise<void> => {
    const edit: Edit = before ? { kind: 'change', before, body } : { kind: 'create', body };
    setRefused(undefined);
    try {
      await check(zone, new Map([...present.current.edits, [key, edit]]), key);
    } catch (error) {
      // Its form, where the refusal would stand, is closed already.
      if (present.current.open !== form && error instanceof ApiError) setRefused(notKept(body, error));
      throw error;
    }
    present.current.apply(new Map([[key, before ? changeOf(before, body) : edit]]));
    drafts.delete(form);
    close(form);
  };
  /** Closes this form only: while the server checked it, another may have been opened. */
  const close = (form: string): void => {
    if (present.current.open !== form) return;
    setOpen(undefined);
    requestAnimationFrame(() => document.getElementById(form === NEW ? 'new-record' : `row-${form}`)?.focus());
  };
  const cancel = (form: string): void => {
    drafts.delete(form);
    close(form);
  };
  const remove = (key: string, before: DnsRecord | undefined): void => {
    apply(new Map([[key, before && ({ kind: 'delete', before } as const)]]));
    cancel(key);
  };
  // What is true when an answer comes, which may be long after the request.
  const present = useRef({ open, edits: pending.edits, apply });
  present.current = { open, edits: pending.edits, apply };
  const isFiltered = Object.values(filter).some((value) => value !== undefined && value !== '');
  return (
    <>
      <div class="head">
        <Filters types={types ?? []} />
        {editable && (
          <button id="new-record" type="button" class="primary" onClick={() => setOpen(NEW)}>
            New record
          </button>
        )}
      </div>
      {saved && <Receipt key={saved.at} zone={zone} saved={saved} onClose={() => setSaved(undefined)} />}
      {editable && open === NEW && (
        <div class="panel">
          <Editor
            types={types}
            values={undefined}
            drafts={drafts}
            form={NEW}
            apex={apex}
            onKeep={(body) => keep(NEW, newKey(), undefined, body)}
            onCancel={() => cancel(NEW)}
          />
        </div>
      )}
      {error && <ErrorNote error={error} onRetry={reload} />}
      {refused && <ErrorNote error={refused} />}
      {!answer && !error && <Loading what="records" />}
      {answer && answer.result.length + pending.edits.size === 0 && (
        <NoRecords
          zone={zone}
          isPastEnd={isPastEnd(answer.info)}
          isFiltered={isFiltered}
          isLimited={permissions.records !== null}
          editable={editable}
          onNew={() => setOpen(NEW)}
        />
      )}
      {answer && answer.result.length + pending.edits.size > 0 && (
        <RecordTable
          records={answer.result}
          edits={pending.edits}
          apex={apex}
          base={base}
          busy={busy}
          editable={editable}
          explains={permissions.records === null}
          types={types}
          open={open}
          drafts={drafts}
          selected={selected}
          onOpen={setOpen}
          onSelect={setSelected}
          onTakeBack={(key) => apply(new Map([[key, undefined]]))}
          editor={(key, before, body) => {
            const type = types?.find((candidate) => candidate.type === body.type);
            if (!type) return <NotEditable onDelete={() => remove(key, before)} />;
            return (
              <Editor
                types={types!}
                values={valuesOf(body, type, apex)}
                drafts={drafts}
                form={key}
                apex={apex}
                onKeep={(next) => keep(key, key, before, next)}
                onCancel={() => cancel(key)}
                onDelete={() => remove(key, before)}
              />
            );
          }}
        />
      )}
      {answer?.info && <Paging info={answer.info} nouns={['record', 'records']} />}
      {editable && selected.size > 0 && (
        <BulkBar
          selected={selected}
          edits={pending.edits}
          total={answer?.info?.total_count ?? 0}
          onSelectAll={async (onProgress) => setSelected(await readAll(zone, filter, onProgress))}
          onClear={() => setSelected(new Map())}
          onApply={(change) => {
            apply(change);
            setSelected(new Map());
          }}
        />
      )}
      {pending.edits.size === 0 && pending.past.length > 0 && selected.size === 0 && (
        <section class="pending" aria-label="Edits that are not saved">
          <span role="status">All edits are taken back</span>
          <span class="actions">
            <button type="button" aria-keyshortcuts="Control+Z" onClick={pending.undo}>
              Undo
            </button>
            <button type="button" class="quiet" onClick={pending.clear}>
              Close
            </button>
          </span>
        </section>
      )}
      {pending.edits.size > 0 && selected.size === 0 && (
        <section class="pending" aria-label="Edits that are not saved">
          <strong role="status">{notSaved(pending.edits)}</strong>
          <span class="actions">
            {pending.past.length > 0 && (
              <button type="button" aria-keyshortcuts="Control+Z" onClick={pending.undo}>
                Undo
              </button>
            )}
            <button
              type="button"
              onClick={() => apply(new Map([...pending.edits.keys()].map((key) => [key, undefined])))}
            >
              Discard
            </button>
            <button type="button" class="primary" onClick={() => setReviewing(true)}>
              Review and save
            </button>
          </span>
        </section>
      )}
      {isReviewing && (
        <Review
          zone={zone}
          pending={pending}
          onClose={() => setReviewing(false)}
          onSaved={(next) => {
            setReviewing(false);
            setSaved(next);
            reload();
          }}
        />
      )}
      <Curl request={{ method: 'GET', path }} />
    </>
  );
}

const NEW = 'new';

function NotEditable({ onDelete }: { readonly onDelete: () => void }) {
  return (
    <div class="editor">
      <p class="hint">
        Records of this type can be deleted here, but not edited. A zone file and the command line change them.
      </p>
      <div class="editor-actions">
        <button type="button" class="quiet danger" onClick={onDelete}>
          Delete the record
        </button>
      </div>
    </div>
  );
}

/** A refusal for which there is no form any more. */
function notKept({ name, type }: RecordBody, { status, message }: ApiError): ApiError {
  return new ApiError(status, [{ code: 0, message: `The edit of ${name} ${type} was not kept: ${message}` }]);
}

/** What the address filters by, as the API wants it. */
function filterOf(query: URLSearchParams): Readonly<Record<string, string | undefined>> {
  const of = (name: string): string | undefined => query.get(name) ?? undefined;
  // Names are kept without the final dot that people copy from zone files and the output of dig.
  return {
    search: of('search')?.replace(/(?<=[^.\s])\.$/, ''),
    type: of('type'),
    proxied: of('proxied'),
    tag: of('tag'),
  };
}

/** Reads all records that the filter matches. */
async function readAll(
  zone: Zone,
  filter: Readonly<Record<string, string | undefined>>,
  onProgress: (read: number) => void,
): Promise<Map<string, DnsRecord>> {
  const all = new Map<string, DnsRecord>();
  const ask = (page: number): Promise<Answer<DnsRecord[]>> =>
    call('GET', pathWith(`/zones/${zone.id}/dns_records`, { ...filter, page, per_page: READ_AT_ONCE }));
  const take = ({ result }: Answer<DnsRecord[]>): void => {
    for (const record of result) all.set(record.id, record);
    onProgress(all.size);
  };
  // The first page says how many there are.
  const first = await ask(1);
  const others = Array.from({ length: Math.max(0, (first.info?.total_pages ?? 1) - 1) }, (_, i) => i + 2);
  take(first);
  for await (const [, answer] of answersInOrder(others, ask)) take(answer);
  return all;
}

/** Asks the server whether the edits would be accepted. Throws its refusal, with pointers into the record of `key`. */
async function check(zone: Zone, edits: Edits, key: string): Promise<void> {
  const tried = edits.size <= MOST_CHECKED ? edits : new Map([[key, edits.get(key)!]]);
  try {
    await call('POST', `/zones/${zone.id}/dns_records/batch?dry_run=true`, { body: batchOf(tried) });
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    const errors = error.errors.map(({ source, ...rest }) => {
      const found = source && editAt(tried, source.pointer);
      return found?.key === key ? { ...rest, source: { pointer: found.member } } : rest;
    });
    throw new ApiError(error.status, errors);
  }
}

/** Control+Z takes the last edit back, unless it belongs to a field. */
function useUndoKey(undo: () => void): void {
  useEffect(() => {
    const press = (event: KeyboardEvent): void => {
      if (event.key !== 'z' || !(event.ctrlKey || event.metaKey) || event.shiftKey || !isCommand(event)) return;
      event.preventDefault();
      undo();
    };
    addEventListener('keydown', press);
    return () => removeEventListener('keydown', press);
  }, [undo]);
}
