/**
 * Somebody else changed the zone after the edits began: what they made of the edited records, beside what is to become of them.
 */

import { useEffect, useState } from 'preact/hooks';
import { ApiError, call, pathWith } from '../../api.js';
import { Button } from '../../kit/button.js';
import { useSending } from '../../load.js';
import { ErrorNote, Loading } from '../../parts/notes.js';
import type { DnsRecord, Zone } from '../../types.js';
import { bodyOf, changedMembers, type Edit, type Edits, newKey, type Pending } from './pending.js';

interface ConflictProps {
  readonly zone: Zone;
  readonly pending: Pending;
  /** The edits fit the zone as it is now. */
  readonly onSolved: () => void;
}

/** Up to here, edited records are read one by one. */
const FEW = 20;
const NOT_FOUND = 404;

interface Present {
  readonly etag: string | undefined;
  /** Records that are gone are missing. */
  readonly records: ReadonlyMap<string, DnsRecord>;
}

async function readPresent(zone: Zone, edits: Edits): Promise<Present> {
  const ids = [...edits].filter(([, edit]) => edit.kind !== 'create').map(([id]) => id);
  const list = `/zones/${zone.id}/dns_records`;
  const first = await call<DnsRecord[]>('GET', pathWith(list, { per_page: ids.length > FEW ? 50_000 : 5 }));
  const records = new Map<string, DnsRecord>();
  if (ids.length <= FEW) {
    for (const id of ids) {
      const record = await call<DnsRecord>('GET', `${list}/${id}`).catch(ignoreMissing);
      if (record) records.set(id, record.result);
    }
  } else {
    for (let page = 1, answer = first; ; answer = await call('GET', pathWith(list, { per_page: 50_000, page }))) {
      for (const record of answer.result) if (edits.has(record.id)) records.set(record.id, record);
      if (page++ >= (answer.info?.total_pages ?? 1)) break;
    }
  }
  return { etag: first.etag, records };
}

function ignoreMissing(error: unknown): undefined {
  if (!(error instanceof ApiError) || error.status !== NOT_FOUND) throw error;
}

type TouchingEdit = Exclude<Edit, { readonly kind: 'create' }>;

interface Clash {
  readonly id: string;
  readonly edit: TouchingEdit;
  /** Undefined: they deleted it. */
  readonly theirs: DnsRecord | undefined;
}

function clashesOf(edits: Edits, { records }: Present): Clash[] {
  return [...edits].flatMap(([id, edit]) => {
    if (edit.kind === 'create') return [];
    const theirs = records.get(id);
    const isSame = theirs && Object.keys(changedMembers(edit.before, bodyOf(theirs))).length === 0;
    return isSame ? [] : [{ id, edit, theirs }];
  });
}

/** The edits on the present state of the zone, as chosen. */
function rebased(edits: Edits, clashes: readonly Clash[], mine: ReadonlySet<string>): Edits {
  const next = new Map(edits);
  for (const { id, edit, theirs } of clashes) {
    next.delete(id);
    if (!mine.has(id)) continue;
    if (theirs) next.set(id, { ...edit, before: theirs });
    else if (edit.kind === 'change') next.set(newKey(), { kind: 'create', body: edit.body });
  }
  return next;
}

export function Conflict({ zone, pending, onSolved }: ConflictProps) {
  const [present, setPresent] = useState<Present>();
  const [mine, setMine] = useState<ReadonlySet<string>>(new Set());
  const reading = useSending();
  useEffect(() => {
    void reading.run(async () => setPresent(await readPresent(zone, pending.edits)));
  }, []);
  if (reading.error) return <ErrorNote error={reading.error} />;
  if (!present) return <Loading what="what others changed" />;
  const clashes = clashesOf(pending.edits, present);
  const goOn = (): void => {
    pending.rebase(rebased(pending.edits, clashes, mine), present.etag);
    onSolved();
  };
  const choose = (id: string, isMine: boolean): void => {
    const next = new Set(mine);
    if (isMine) next.add(id);
    else next.delete(id);
    setMine(next);
  };
  return (
    <div class="conflict">
      <div class="note note-wait" role="alert">
        <p>
          {clashes.length === 0
            ? 'Others changed this zone after you began, but none of the records that you edit.'
            : 'Others changed records that you edit. Choose what each is to become.'}
        </p>
      </div>
      {clashes.map(({ id, edit, theirs }) => (
        <fieldset key={id} class="clash">
          <legend class="mono">{edit.before.name}</legend>
          <Side
            label="Theirs"
            text={theirs ? describe(bodyOf(theirs)) : 'Deleted'}
            name={id}
            checked={!mine.has(id)}
            onChoose={() => choose(id, false)}
          />
          <Side
            label="Yours"
            text={edit.kind === 'delete' ? 'Deleted' : describe(edit.body)}
            name={id}
            checked={mine.has(id)}
            onChoose={() => choose(id, true)}
          />
          <p class="hint">Before: {describe(bodyOf(edit.before))}</p>
        </fieldset>
      ))}
      <Button class="primary" onClick={goOn} text="Go on with the present zone" />
    </div>
  );
}

interface SideProps {
  readonly label: string;
  readonly text: string;
  readonly name: string;
  readonly checked: boolean;
  readonly onChoose: () => void;
}

function Side({ label, text, name, checked, onChoose }: SideProps) {
  return (
    <label class="side">
      <input type="radio" name={`clash ${name}`} checked={checked} onChange={onChoose} />
      <strong>{label}</strong>
      <span class="mono" dir="auto">
        {text}
      </span>
    </label>
  );
}

function describe({ type, content, data, priority, ttl, proxied, comment }: ReturnType<typeof bodyOf>): string {
  const value = content ?? Object.values(data ?? {}).join(' ');
  const parts = [type, priority !== undefined && content !== undefined ? priority : undefined, value];
  const notes = [ttl === 1 ? 'TTL automatic' : `TTL ${ttl}`, proxied ? 'proxied' : undefined, comment ?? undefined];
  return `${parts.filter((part) => part !== undefined).join(' ')} (${notes.filter((note) => note !== undefined).join(', ')})`;
}
