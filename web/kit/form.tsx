/** What forms are made of: fields with their label and hint, switches, and the buttons at the end. */

import type { ComponentChildren } from 'preact';
import { useId } from 'preact/hooks';
import { Button } from '../kit/button.js';
import type { Sending } from '../load.js';
import { ErrorNote } from '../parts/notes.js';

interface FieldProps {
  readonly label: ComponentChildren;
  /** Stands right below the field. */
  readonly hint?: ComponentChildren;
  readonly narrow?: boolean;
  readonly children: ComponentChildren;
}

/** A label around one control. */
export function Field({ label, hint, narrow = false, children }: FieldProps) {
  return (
    // biome-ignore lint/a11y/noLabelWithoutControl: the control is among its children
    <label class={narrow ? 'field narrow' : 'field'}>
      <span>{label}</span>
      {children}
      {hint && <span class="hint">{hint}</span>}
    </label>
  );
}

interface TypedProps extends Omit<FieldProps, 'children'> {
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly required?: boolean;
  readonly disabled?: boolean;
  readonly autofocus?: boolean;
  readonly 'aria-invalid'?: 'true' | undefined;
  readonly readOnly?: boolean;
  readonly placeholder?: string;
  readonly autocapitalize?: 'none';
  readonly autocomplete?:
    | 'off'
    | 'on'
    | 'username'
    | 'username webauthn'
    | 'current-password'
    | 'new-password'
    | 'one-time-code'
    | undefined;
  readonly spellcheck?: boolean;
  readonly dir?: 'auto' | 'ltr';
}

interface TextProps extends TypedProps {
  readonly type?: 'text' | 'password' | 'email' | 'date' | 'url' | 'number';
  readonly inputMode?: 'numeric' | 'decimal' | 'email';
  readonly pattern?: string;
  readonly title?: string;
  readonly min?: number | string;
  readonly max?: number | string;
  readonly maxLength?: number;
  /** Identifier of a list of suggestions. */
  readonly list?: string;
}

export function TextField({ label, hint, narrow, onChange, type, ...rest }: TextProps) {
  return (
    <Field label={label} hint={hint} {...(narrow && { narrow })}>
      <input {...(rest as object)} type={type as 'text'} onInput={(event) => onChange(event.currentTarget.value)} />
    </Field>
  );
}

export function LinesField({ label, hint, narrow, onChange, ...rest }: TypedProps & { readonly rows?: number }) {
  return (
    <Field label={label} hint={hint} {...(narrow && { narrow })}>
      <textarea {...(rest as object)} onInput={(event) => onChange(event.currentTarget.value)} />
    </Field>
  );
}

interface ChoiceProps extends Omit<FieldProps, 'children'> {
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly disabled?: boolean;
  readonly required?: boolean;
  /** Values and what they are called; instead of them, options as children. */
  readonly choices?: readonly (readonly [value: string, text: ComponentChildren])[];
  readonly children?: ComponentChildren;
}

export function ChoiceField({ label, hint, narrow, onChange, choices = [], children, ...rest }: ChoiceProps) {
  return (
    <Field label={label} hint={hint} {...(narrow && { narrow })}>
      <select {...rest} onChange={(event) => onChange(event.currentTarget.value)}>
        {children}
        {choices.map(([value, text]) => (
          <option key={value} value={value}>
            {text}
          </option>
        ))}
      </select>
    </Field>
  );
}

interface SwitchProps {
  readonly label: ComponentChildren;
  readonly checked: boolean;
  readonly onChange: (checked: boolean) => void;
  readonly disabled?: boolean;
  readonly hint?: ComponentChildren;
}

/** Something that is on or off. */
export function Switch({ label, checked, onChange, disabled = false, hint }: SwitchProps) {
  const id = useId();
  return (
    <label class="check switch">
      <input
        type="checkbox"
        role="switch"
        checked={checked}
        aria-checked={checked}
        disabled={disabled}
        {...(hint && { 'aria-describedby': id })}
        onChange={(event) => onChange(event.currentTarget.checked)}
      />
      <span>
        {label}
        {hint && (
          <span class="hint" id={id}>
            {hint}
          </span>
        )}
      </span>
    </label>
  );
}

interface ActionsProps {
  readonly sending: Pick<Sending, 'busy' | 'error'>;
  /** What the button says, and what it says while the request is on its way. */
  readonly verb: string;
  readonly doing: string;
  readonly disabled?: boolean;
  readonly onCancel?: (() => void) | undefined;
}

/** The end of a form: why it was refused, the button that sends it, and the one that does not. */
function FormActions({ sending: { busy, error }, verb, doing, disabled = false, onCancel }: ActionsProps) {
  return (
    <>
      {error && <ErrorNote error={error} />}
      <div class="actions">
        <button type="submit" class="primary" disabled={busy || disabled}>
          {busy ? doing : verb}
        </button>
        {onCancel && <Button onClick={onCancel} text="Cancel" />}
      </div>
    </>
  );
}

interface FormProps extends ActionsProps {
  readonly onSubmit: () => unknown;
  readonly children: ComponentChildren;
}

/** A form with its buttons. */
export function Form({ onSubmit, children, ...actions }: FormProps) {
  return (
    <form class="form" onSubmit={(event) => submitted(event, onSubmit)}>
      {children}
      <FormActions {...actions} />
    </form>
  );
}

interface LineFormProps extends Omit<FormProps, 'onCancel'> {
  readonly primary?: boolean;
}

/** A form of one line: its fields, and the button beside them. */
export function LineForm({
  onSubmit,
  children,
  sending,
  verb,
  doing,
  disabled = false,
  primary = false,
}: LineFormProps) {
  return (
    <form class="line-form" onSubmit={(event) => submitted(event, onSubmit)}>
      {children}
      <button type="submit" class={primary ? 'primary' : ''} disabled={sending.busy || disabled}>
        {sending.busy ? doing : verb}
      </button>
      {sending.error && <ErrorNote error={sending.error} />}
    </form>
  );
}

function submitted(event: SubmitEvent, onSubmit: () => unknown): void {
  event.preventDefault();
  onSubmit();
}
