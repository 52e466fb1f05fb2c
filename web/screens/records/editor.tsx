/** The form of a record: its fields come from the type. Problems are shown at the field that has them. */

import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { ApiError, pathWith } from '../../api.js';
import { Button } from '../../kit/button.js';
import { Switch } from '../../kit/form.js';
import { ErrorNote } from '../../parts/notes.js';
import { isTyping } from '../../parts/search.js';
import { Link } from '../../router.js';
import { mayWrite, usePermissions } from '../../session.js';
import type { RecordType } from '../../types.js';
import type { Drafts } from './drafts.js';
import { bodyOfValues, EMPTY, type FormValues, nameProblem, ttlChoices } from './form-values.js';
import { isAddress, type RecordBody } from './pending.js';

interface EditorProps {
  readonly types: readonly RecordType[];
  /** Undefined: a new record. */
  readonly values: FormValues | undefined;
  /** What was typed stands here under `form` until it is kept or cancelled. */
  readonly drafts: Drafts;
  readonly form: string;
  readonly apex: string;
  /** The zone's name for people. */
  readonly zoneName: string;
  /** Checks the edit with the server, then keeps it. Throws an ApiError whose pointers are relative to the record. */
  readonly onKeep: (body: RecordBody) => Promise<void>;
  readonly onCancel: () => void;
  readonly onDelete?: () => void;
}

const OTHER = 'other';

/** What is typed, kept under a key until the form is done, and sent. */
function useDraft({ types, values: initial, drafts, form: key, apex, onKeep }: EditorProps) {
  const [values, setValues] = useState<FormValues>(drafts.get(key) ?? initial ?? EMPTY);
  const [error, setError] = useState<ApiError>();
  const [busy, setBusy] = useState(false);
  const form = useRef<HTMLFormElement>(null);
  const type = types.find((candidate) => candidate.type === values.type) ?? types[0]!;
  const set = (change: Partial<FormValues>): void => {
    const next = { ...values, ...change };
    setValues(next);
    if (JSON.stringify(next) === JSON.stringify(initial ?? EMPTY)) drafts.delete(key);
    else drafts.set(key, next);
  };
  useEffect(() => {
    form.current?.querySelector<HTMLElement>(initial ? 'input[data-first]' : 'select')?.focus();
  }, []);
  const submit = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault();
    setBusy(true);
    setError(undefined);
    try {
      const problem = nameProblem(values.name, apex);
      if (problem) throw new ApiError(0, [{ code: 0, message: problem, source: { pointer: '/name' } }]);
      await onKeep(bodyOfValues(values, type, apex));
    } catch (caught) {
      if (!(caught instanceof ApiError)) throw caught;
      setError(caught);
      requestAnimationFrame(() => form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus());
    } finally {
      setBusy(false);
    }
  };
  return { form, values, type, set, error, busy, submit, clearError: () => setError(undefined) };
}

export function Editor(props: EditorProps) {
  const { types, values: initial, zoneName, onCancel, onDelete } = props;
  const { form, values, type, set, error, busy, submit, clearError } = useDraft(props);
  const choose = (next: string): void => {
    set({ type: next, members: usualMembers(types.find((candidate) => candidate.type === next)) });
    // It was about fields that are gone.
    clearError();
  };
  // Those whose fields show what is wrong with them.
  const shown = new Set(['/name', '/ttl', '/comment', '/tags', '/expires_on']);
  for (const { place, name } of type.members) shown.add(place === 'data' ? `/data/${name}` : `/${place}`);
  const general = error?.errors.filter(({ source }) => !source || !shown.has(source.pointer)) ?? [];
  return (
    <form
      class="editor"
      ref={form}
      onSubmit={(event) => void submit(event)}
      onKeyDown={(event) => {
        if (event.key !== 'Escape') return;
        event.stopPropagation();
        onCancel();
      }}
      aria-label={initial ? `Edit ${initial.name} ${initial.type}` : 'New record'}
    >
      <div class="editor-fields">
        <label class="field field-type">
          <span>Type</span>
          <select
            value={values.type}
            disabled={initial !== undefined}
            onChange={(event) => choose(event.currentTarget.value)}
          >
            {types.map((candidate) => (
              <option key={candidate.type}>{candidate.type}</option>
            ))}
          </select>
        </label>
        <DataFields zoneName={zoneName} values={values} type={type} set={set} error={error} />
      </div>
      <p class="hint">
        {type.about} <span class="muted">({type.rfc})</span>
      </p>
      <AttributeFields values={values} type={type} set={set} error={error} />
      {error && general.length > 0 && <ErrorNote error={new ApiError(error.status, general)} />}
      <div class="editor-actions">
        <button type="submit" class="primary" disabled={busy}>
          {busy ? 'Checking…' : initial ? 'Keep the edit' : 'Add the record'}
        </button>
        <Button onClick={onCancel} text="Cancel" />
        {initial && <SecondAddress zone={props.apex} values={values} />}
        {onDelete && <Button class="quiet danger" onClick={onDelete} text="Delete the record" />}
      </div>
    </form>
  );
}

/** From a record with an address to a load balancer of its name. */
function SecondAddress({ zone, values }: { readonly zone: string; readonly values: FormValues }) {
  const writes = mayWrite(usePermissions(), 'loadBalancers');
  if (!writes || (values.type !== 'A' && values.type !== 'AAAA')) return null;
  const begun = { name: values.name, address: values.members['content'] };
  return (
    <Link class="quiet" href={pathWith(`/zones/${zone}/balancers`, begun)}>
      Add a second address with health check
    </Link>
  );
}

interface PartProps {
  readonly values: FormValues;
  readonly type: RecordType;
  readonly set: (change: Partial<FormValues>) => void;
  readonly error: ApiError | undefined;
}

/** What resolvers get: the name, the data, the TTL. */
function DataFields({ zoneName, values, type, set, error }: PartProps & { readonly zoneName: string }) {
  const id = useId();
  return (
    <>
      <Field id={`${id}-name`} label="Name" problem={error?.at('/name')} hint={`@ is ${zoneName}`}>
        {(attributes) => (
          <input
            {...attributes}
            class="mono"
            type="text"
            spellcheck={false}
            placeholder="@"
            value={values.name}
            onInput={(event) => set({ name: event.currentTarget.value })}
          />
        )}
      </Field>
      {type.members.map((member, index) => (
        <MemberField
          key={`${type.type} ${member.name}`}
          id={`${id}-${member.name}`}
          member={member}
          isFirst={index === 0}
          value={values.members[member.name] ?? ''}
          problem={error?.at(member.place === 'data' ? `/data/${member.name}` : `/${member.place}`)}
          onChange={(value) => set({ members: { ...values.members, [member.name]: value } })}
        />
      ))}
      <TtlField id={`${id}-ttl`} ttl={values.ttl} problem={error?.at('/ttl')} onChange={(ttl) => set({ ttl })} />
    </>
  );
}

/** What stays here. */
function AttributeFields({ values, type, set, error }: PartProps) {
  const id = useId();
  return (
    <div class="editor-fields">
      <Field id={`${id}-comment`} label="Comment" problem={error?.at('/comment')}>
        {(attributes) => (
          <input
            {...attributes}
            type="text"
            dir="auto"
            value={values.comment}
            onInput={(event) => set({ comment: event.currentTarget.value })}
          />
        )}
      </Field>
      <Field id={`${id}-tags`} label="Tags" hint="One on each line, as name:value" problem={error?.at('/tags')}>
        {(attributes) => (
          <textarea
            {...attributes}
            rows={Math.min(6, Math.max(1, values.tags.split('\n').length))}
            dir="auto"
            value={values.tags}
            onInput={(event) => set({ tags: event.currentTarget.value })}
          />
        )}
      </Field>
      <Field
        id={`${id}-expires`}
        label="Ends"
        hint="When the record is removed; empty: never"
        problem={error?.at('/expires_on')}
      >
        {(attributes) => (
          <input
            {...attributes}
            type="datetime-local"
            step={1}
            value={values.expires}
            onInput={(event) => set({ expires: event.currentTarget.value })}
          />
        )}
      </Field>
      {type.proxiable && (
        <Switch label="Proxied through the edge" checked={values.proxied} onChange={(proxied) => set({ proxied })} />
      )}
      {isAddress(type.type) && !values.proxied && (
        <Switch label="Keep its PTR record" checked={values.ptr} onChange={(ptr) => set({ ptr })} />
      )}
    </div>
  );
}

interface FieldAttributes {
  readonly id: string;
  readonly 'aria-invalid'?: 'true';
  readonly 'aria-describedby'?: string;
}

interface FieldProps {
  readonly id: string;
  readonly label: string;
  readonly hint?: string | undefined;
  readonly problem?: string | undefined;
  readonly children: (attributes: FieldAttributes) => preact.ComponentChild;
}

function Field({ id, label, hint, problem, children }: FieldProps) {
  const described = [problem && `${id}-problem`, hint && `${id}-hint`].filter(Boolean).join(' ');
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children({
        id,
        ...(problem !== undefined && { 'aria-invalid': 'true' }),
        ...(described && { 'aria-describedby': described }),
      })}
      {problem && (
        <p class="problem" id={`${id}-problem`} role="alert">
          {problem}
        </p>
      )}
      {hint && (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
    </div>
  );
}

interface MemberFieldProps {
  readonly id: string;
  readonly member: RecordType['members'][number];
  readonly isFirst: boolean;
  readonly value: string;
  readonly problem: string | undefined;
  readonly onChange: (value: string) => void;
}

/** What a new record of a type begins with. */
function usualMembers(type: RecordType | undefined): FormValues['members'] {
  return Object.fromEntries((type?.members ?? []).flatMap(({ name, usual }) => (usual ? [[name, usual]] : [])));
}

/** Long values get a field that grows. */
const LONG = 60;

function MemberField({ id, member, isFirst, value, problem, onChange }: MemberFieldProps) {
  const { label, unit, hint, kind, minimum, maximum, example, values, choices } = member;
  const isNumber = kind === 'integer' || kind === 'number';
  const range = isNumber && maximum !== undefined && !choices ? `${minimum ?? 0} to ${maximum}` : undefined;
  const meaning = choices?.find((choice) => choice.value === value)?.meaning;
  const offered = value === '' ? choices?.map((choice) => `${choice.value}: ${choice.meaning}`).join('; ') : undefined;
  const hints = [meaning ?? offered, hint ?? range].filter(Boolean).join('. ');
  const common = { 'data-first': isFirst || undefined, spellcheck: false, class: 'mono' };
  return (
    <Field id={id} label={unit ? `${label} (${unit})` : label} hint={hints} problem={problem}>
      {(attributes) => {
        if (values) {
          return (
            <select {...attributes} value={value} onChange={(event) => onChange(event.currentTarget.value)}>
              {!values.includes(value) && <option value="" />}
              {values.map((option) => (
                <option key={option}>{option}</option>
              ))}
            </select>
          );
        }
        if (value.length > LONG) {
          return (
            <textarea
              {...attributes}
              {...common}
              rows={Math.min(10, Math.ceil(value.length / 50))}
              value={value}
              onInput={(event) => onChange(event.currentTarget.value.replaceAll('\n', ''))}
            />
          );
        }
        return (
          <>
            <input
              {...attributes}
              {...common}
              type="text"
              inputMode={isNumber ? 'decimal' : 'text'}
              placeholder={example}
              list={choices && `${id}-choices`}
              value={value}
              onInput={(event) => onChange(event.currentTarget.value)}
            />
            {choices && (
              <datalist id={`${id}-choices`}>
                {choices.map((choice) => (
                  <option key={choice.value} value={choice.value} label={choice.meaning} />
                ))}
              </datalist>
            )}
          </>
        );
      }}
    </Field>
  );
}

interface TtlFieldProps {
  readonly id: string;
  readonly ttl: number;
  readonly problem: string | undefined;
  readonly onChange: (ttl: number) => void;
}

function TtlField({ id, ttl, problem, onChange }: TtlFieldProps) {
  const [isOther, setOther] = useState(false);
  const choose = (value: string): void => {
    setOther(value === OTHER);
    if (value !== OTHER) onChange(Number(value));
  };
  return (
    <Field id={id} label="TTL" problem={problem} hint={isOther ? 'In seconds' : undefined}>
      {(attributes) =>
        isOther ? (
          <input
            {...attributes}
            type="number"
            min={1}
            value={ttl}
            onInput={(event) => onChange(event.currentTarget.valueAsNumber || 0)}
          />
        ) : (
          <select {...attributes} value={ttl} onChange={(event) => choose(event.currentTarget.value)}>
            {ttlChoices(ttl).map(([seconds, text]) => (
              <option key={seconds} value={seconds}>
                {text}
              </option>
            ))}
            <option value={OTHER}>Other…</option>
          </select>
        )
      }
    </Field>
  );
}

/** Whether a key pressed now is a command, not text. */
export function isCommand(event: KeyboardEvent): boolean {
  return !isTyping(event.target);
}
