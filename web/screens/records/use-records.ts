/** The edits of a zone's records: what is open, selected, typed and kept, and what was refused. */
import { useEffect, useRef, useState } from 'preact/hooks';
import { ApiError } from '../../api.js';
import type { DnsRecord, Zone } from '../../types.js';
import { type Drafts, draftsOf } from './drafts.js';
import { isCommand } from './editor.js';
import { changeOf, type Edit, type Pending, type RecordBody, type RecordWarnings, usePending } from './pending.js';
import { check } from './reading.js';

/** The form of a record that is not there yet. */
export const NEW = 'new';

export interface RecordEdits {
  readonly pending: Pending;
  readonly drafts: Drafts;
  /** The row, or {@link NEW}, whose form is open. */
  readonly open: string | undefined;
  readonly setOpen: (form: string | undefined) => void;
  readonly selected: ReadonlyMap<string, DnsRecord>;
  readonly setSelected: (selected: ReadonlyMap<string, DnsRecord>) => void;
  /** A refusal for which there is no form any more. */
  readonly refused: ApiError | undefined;
  readonly apply: (changes: ReadonlyMap<string, Edit | undefined>) => void;
  /** Checks an edit with the server, then keeps it. */
  readonly keep: (form: string, key: string, before: DnsRecord | undefined, body: RecordBody) => Promise<void>;
  readonly cancel: (form: string) => void;
  readonly remove: (key: string, before: DnsRecord | undefined) => void;
}

/** `etag`: the state of the zone that is shown. */
export function useRecordEdits(zone: Zone, etag: string | undefined): RecordEdits {
  const pending = usePending(zone.id);
  const drafts = draftsOf(zone.id);
  const [open, setOpen] = useState<string>();
  const [selected, setSelected] = useState<ReadonlyMap<string, DnsRecord>>(new Map());
  const [refused, setRefused] = useState<ApiError>();
  useUndoKey(pending.undo);
  const apply = (changes: ReadonlyMap<string, Edit | undefined>): void => {
    // Nobody comes back to the form of a record that is not to be.
    for (const [key, edit] of changes) if (edit === undefined || edit.kind === 'delete') drafts.delete(key);
    pending.apply(changes, etag);
  };
  // What is true when an answer comes, which may be long after the request.
  const present = useRef({ open, edits: pending.edits, apply });
  present.current = { open, edits: pending.edits, apply };
  /** Closes this form only: while the server checked it, another may have been opened. */
  const close = (form: string): void => {
    if (present.current.open !== form) return;
    setOpen(undefined);
    requestAnimationFrame(() => document.getElementById(form === NEW ? 'new-record' : `row-${form}`)?.focus());
  };
  const keep: RecordEdits['keep'] = async (form, key, before, body) => {
    const edit: Edit = before ? { kind: 'change', before, body } : { kind: 'create', body };
    setRefused(undefined);
    let warnings: RecordWarnings;
    try {
      warnings = await check(zone, new Map([...present.current.edits, [key, edit]]), key);
    } catch (error) {
      // Its form, where the refusal would stand, is closed already.
      if (present.current.open !== form && error instanceof ApiError) setRefused(notKept(body, error));
      throw error;
    }
    const kept = before ? changeOf(before, body) : edit;
    present.current.apply(new Map([[key, kept && { ...kept, warnings }]]));
    drafts.delete(form);
    close(form);
  };
  const cancel = (form: string): void => {
    drafts.delete(form);
    close(form);
  };
  const remove: RecordEdits['remove'] = (key, before) => {
    apply(new Map([[key, before && ({ kind: 'delete', before } as const)]]));
    cancel(key);
  };
  return { pending, drafts, open, setOpen, selected, setSelected, refused, apply, keep, cancel, remove };
}

function notKept({ name, type }: RecordBody, { status, message }: ApiError): ApiError {
  return new ApiError(status, [{ code: 0, message: `The edit of ${name} ${type} was not kept: ${message}` }]);
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
