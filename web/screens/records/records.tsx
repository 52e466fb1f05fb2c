/**
 * The records of a zone. Edits are collected (pending.ts); nothing is sent before the difference for resolvers has been
 * reviewed, and then all of it at once.
 */

import { useEffect, useMemo, useState } from 'preact/hooks';
import { Button } from '../../kit/button.js';
import { ListState } from '../../kit/list.js';
import { readAhead, useLoad } from '../../load.js';
import { Curl } from '../../parts/curl.js';
import { compareNames, inNaturalOrder } from '../../parts/natural.js';
import { ErrorNote } from '../../parts/notes.js';
import { isPastEnd, Paging } from '../../parts/paging.js';
import { Receipt, type Saved } from '../../parts/receipt.js';
import { RECORD_TYPES } from '../../parts/record.js';
import { sortOf } from '../../parts/sort.js';
import { asciiName, shownName } from '../../parts/zone.js';
import { go, usePlace, withQuery } from '../../router.js';
import type { ZoneScreenProps } from '../../screen.js';
import { mayWrite, usePermissions } from '../../session.js';
import type { DnsRecord, RecordType, Zone } from '../../types.js';
import { Bars } from './bars.js';
import { Editor } from './editor.js';
import { Filters } from './filters.js';
import { valuesOf } from './form-values.js';
import { NoRecords } from './no-records.js';
import { newKey, REVIEW, type RecordBody } from './pending.js';
import { filterOf, listPath, readAll } from './reading.js';
import { Review } from './review.js';
import { ORDERS, RecordTable } from './table.js';
import { NEW, type RecordEdits, useRecordEdits } from './use-records.js';

export function readFirst({ zone }: ZoneScreenProps): void {
  readAhead(listPath(zone, new URLSearchParams(location.search)));
}

export default function Records({ zone, base }: ZoneScreenProps) {
  const { query } = usePlace();
  const path = listPath(zone, query);
  const list = useLoad<DnsRecord[]>(path);
  const types = useLoad<RecordType[]>(RECORD_TYPES).answer?.result;
  // Records that come from a primary are changed there.
  const editable = mayWrite(usePermissions(), 'dns') && types !== undefined && zone.type !== 'secondary';
  const edits = useRecordEdits(zone, list.answer?.etag);
  const { pending, open, setOpen, refused } = edits;
  const [isReviewing, setReviewing] = useReview(pending.edits.size);
  const [saved, setSaved] = useState<Saved>();
  return (
    <>
      <div class="head">
        <Filters types={types ?? []} />
        {editable && <Button id="new-record" class="primary" onClick={() => setOpen(NEW)} text="New record" />}
      </div>
      {saved && <Receipt key={saved.at} zone={zone} saved={saved} onClose={() => setSaved(undefined)} />}
      {editable && open === NEW && (
        <div class="panel">
          <OneRecord types={types} edits={edits} form={NEW} zone={zone} before={undefined} body={undefined} />
        </div>
      )}
      <ListState loaded={list} what="records" />
      {refused && <ErrorNote error={refused} />}
      {list.answer && <Shown zone={zone} base={base} list={list} types={types} edits={edits} editable={editable} />}
      {list.answer?.info && <Paging info={list.answer.info} nouns={['record', 'records']} />}
      {editable && (
        <Bars
          edits={edits}
          total={list.answer?.info?.total_count ?? 0}
          onReadAll={(onProgress) => readAll(zone, filterOf(query), onProgress)}
          onReview={() => setReviewing(true)}
        />
      )}
      {isReviewing && (
        <Review
          zone={zone}
          pending={pending}
          onClose={() => setReviewing(false)}
          onSaved={(next) => {
            setReviewing(false);
            setSaved(next);
            list.reload();
          }}
        />
      )}
      <Curl request={{ method: 'GET', path }} />
    </>
  );
}

/** Whether the review is open: other screens of the zone lead to it, too. */
function useReview(edits: number): readonly [isOpen: boolean, setOpen: (wanted: boolean) => void] {
  const { query } = usePlace();
  const setReviewing = (wanted: boolean): void =>
    go(withQuery({ [REVIEW]: wanted ? '1' : undefined }), { replace: true });
  // The next edit must not open it.
  useEffect(() => {
    if (query.has(REVIEW) && edits === 0) setReviewing(false);
  });
  return [query.has(REVIEW) && edits > 0, setReviewing];
}

interface ShownProps extends Pick<ZoneScreenProps, 'zone' | 'base'> {
  readonly list: ReturnType<typeof useLoad<DnsRecord[]>>;
  readonly types: readonly RecordType[] | undefined;
  readonly edits: RecordEdits;
  readonly editable: boolean;
}

/** The records of the page, with the edits; or why there are none. */
function Shown({ zone, base, list: { answer, busy }, types, edits, editable }: ShownProps) {
  const { query } = usePlace();
  const permissions = usePermissions();
  const { pending, drafts, open, setOpen, selected, setSelected, apply } = edits;
  const { result, info } = answer!;
  const records = useMemo(() => inNaturalOrder(result, info, sortOf(query, ORDERS, 'name'), compareNames), [result]);
  const apex = asciiName(zone);
  if (records.length + pending.edits.size === 0) {
    return (
      <NoRecords
        zone={zone}
        isPastEnd={isPastEnd(info)}
        isFiltered={Object.values(filterOf(query)).some((value) => value !== undefined && value !== '')}
        isLimited={permissions.records !== null}
        editable={editable}
        onNew={() => setOpen(NEW)}
      />
    );
  }
  return (
    <RecordTable
      records={records}
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
      editor={(key, before, body) => (
        <OneRecord types={types!} edits={edits} form={key} zone={zone} before={before} body={body} />
      )}
    />
  );
}

interface OneRecordProps {
  readonly types: readonly RecordType[];
  readonly edits: RecordEdits;
  readonly form: string;
  readonly zone: Zone;
  readonly before: DnsRecord | undefined;
  /** As it is now; undefined: a new one. */
  readonly body: RecordBody | undefined;
}

/** The form of a record. */
function OneRecord({ types, edits, form, zone, before, body }: OneRecordProps) {
  const apex = asciiName(zone);
  const { drafts, keep, cancel, remove } = edits;
  const type = body && types.find((candidate) => candidate.type === body.type);
  if (body && !type) return <NotEditable onDelete={() => remove(form, before)} />;
  return (
    <Editor
      types={types}
      values={body && type && valuesOf(body, type, apex)}
      drafts={drafts}
      form={form}
      apex={apex}
      zoneName={shownName(zone)}
      onKeep={(next) => keep(form, body ? form : newKey(), before, next)}
      onCancel={() => cancel(form)}
      {...(body && { onDelete: () => remove(form, before) })}
    />
  );
}

function NotEditable({ onDelete }: { readonly onDelete: () => void }) {
  return (
    <div class="editor">
      <p class="hint">
        Records of this type can be deleted here, but not edited. A zone file and the command line change them.
      </p>
      <div class="editor-actions">
        <Button class="quiet danger" onClick={onDelete} text="Delete the record" />
      </div>
    </div>
  );
}
