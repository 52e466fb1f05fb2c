/** The forms of signing in. */

import { useEffect, useRef, useState } from 'preact/hooks';
import { BASE } from '../api.js';
import { Button } from '../kit/button.js';
import { Field, TextField } from '../kit/form.js';
import { type Sending, useSending } from '../load.js';
import { ErrorNote } from '../parts/notes.js';
import { answerWithPasskey, passkeyQuestion } from '../passkey.js';
import type { Ways } from '../types.js';

type Kind = 'person' | 'key' | 'token';

export interface Credential {
  readonly kind: Kind;
  readonly email: string;
  readonly secret: string;
}

const KINDS: Readonly<Record<Kind, string>> = { person: 'Password', key: 'Key and e-mail', token: 'API token' };
const SECRETS: Readonly<Record<Kind, string>> = { person: 'Password', key: 'Key', token: 'Token' };

/** The user of the key that the first start makes, unless a setting says otherwise. */
const FIRST_KEY = 'admin@localhost';

/** How somebody signed in last with this browser. */
const LAST = 'zoneplane-sign-in';

function lastKind(): Kind {
  const stored = localStorage.getItem(LAST);
  return stored === 'key' || stored === 'token' ? stored : 'person';
}

/** Where somebody was going. */
function returnPath(): string {
  return new URLSearchParams(location.search).get('to') ?? '/';
}

interface CredentialFormProps {
  readonly sending: Sending;
  readonly notice: string | undefined;
  readonly ways: Ways | undefined;
  readonly onSubmit: (credential: Credential) => void;
  /** Absent: passkeys cannot be used. */
  readonly onPasskey?: (passkey: unknown) => Promise<void>;
  readonly onForgotten: () => void;
}

export function CredentialForm({ sending, notice, ways, onSubmit, onPasskey, onForgotten }: CredentialFormProps) {
  const [kind, setKind] = useState<Kind>(lastKind);
  const [email, setEmail] = useState(kind === 'key' ? FIRST_KEY : '');
  const [secret, setSecret] = useState('');
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => field.current?.focus(), [kind]);
  const choose = (next: Kind): void => {
    setKind(next);
    if (next === 'key' && email === '') setEmail(FIRST_KEY);
  };
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    localStorage.setItem(LAST, kind);
    onSubmit({ kind, email, secret });
  };
  return (
    <form onSubmit={submit} aria-labelledby="sign-in-title">
      <h1 id="sign-in-title">Sign in</h1>
      {notice !== undefined && <p role="status">{notice}</p>}
      <fieldset class="segments">
        <legend class="hidden">Sign in with</legend>
        {(Object.keys(KINDS) as Kind[]).map((name) => (
          <label key={name}>
            <input type="radio" name="kind" checked={kind === name} onChange={() => choose(name)} />
            <span>{KINDS[name]}</span>
          </label>
        ))}
      </fieldset>
      {kind !== 'token' && (
        <Field label="E-mail address">
          <input
            ref={field}
            inputMode="email"
            autocomplete="username webauthn"
            required
            value={email}
            onInput={(event) => setEmail(event.currentTarget.value)}
          />
        </Field>
      )}
      <Field label={SECRETS[kind]}>
        <input
          {...(kind === 'token' && { ref: field })}
          type="password"
          autocomplete="current-password"
          required
          value={secret}
          onInput={(event) => setSecret(event.currentTarget.value)}
        />
      </Field>
      {sending.error && <ErrorNote error={sending.error} />}
      <button type="submit" class="primary" disabled={sending.busy}>
        {sending.busy ? 'Signing in…' : 'Sign in'}
      </button>
      {onPasskey && (
        <Button
          disabled={sending.busy}
          onClick={() => void sending.run(async () => onPasskey(await answerWithPasskey(await passkeyQuestion())))}
          text="Sign in with a passkey"
        />
      )}
      {ways?.providers.map(({ id, name }) => (
        <a key={id} class="button" href={`${BASE}/user/sign_in/oidc/${id}?return=${encodeURIComponent(returnPath())}`}>
          Sign in with {name}
        </a>
      ))}
      {kind === 'person' && ways?.mail && <Button class="quiet" onClick={onForgotten} text="Forgot the password?" />}
      <p class="hint">
        {kind === 'person' ? (
          <>
            No password yet? An administrator gives you a link with <code>zoneplane user password</code>.
          </>
        ) : (
          <>
            The first start printed a key, or wrote it to <code class="flag">initial-key</code> in the data directory.
          </>
        )}{' '}
        <code>zoneplane dashboard link</code> prints a link that signs an administrator in.
      </p>
    </form>
  );
}

/** Asks for a link by mail. It says the same whether or not the address belongs to somebody. */
export function ForgottenForm({ onBack }: { readonly onBack: () => void }) {
  const [email, setEmail] = useState('');
  const [isAsked, setAsked] = useState(false);
  const sending = useSending(() => setAsked(true));
  return (
    <form
      aria-labelledby="sign-in-title"
      onSubmit={(event) => {
        event.preventDefault();
        void sending.send('POST', '/user/password_reset', { body: { email: email.trim() } });
      }}
    >
      <h1 id="sign-in-title">A new password</h1>
      {isAsked ? (
        <p role="status">
          If the address belongs to a user, a message with a link is on its way. It works for an hour.
        </p>
      ) : (
        <TextField
          label="E-mail address"
          inputMode="email"
          autocomplete="username"
          required
          value={email}
          onChange={setEmail}
        />
      )}
      {sending.error && <ErrorNote error={sending.error} />}
      {!isAsked && (
        <button type="submit" class="primary" disabled={sending.busy}>
          Send the link
        </button>
      )}
      <Button class="quiet" onClick={onBack} text="Back to the sign-in" />
    </form>
  );
}

interface ChooseFormProps {
  readonly title: string;
  readonly verb: string;
  readonly cancel?: string;
  readonly onChosen: (password: string) => Promise<void>;
  readonly onCancel: () => void;
}

/** A new password, typed twice. */
export function ChooseForm({ title, verb, cancel = 'Cancel', onChosen, onCancel }: ChooseFormProps) {
  const [password, setPassword] = useState('');
  const [again, setAgain] = useState('');
  const sending = useSending();
  const isDifferent = again !== '' && again !== password;
  return (
    <form
      aria-labelledby="choose-title"
      onSubmit={(event) => {
        event.preventDefault();
        if (again === password) void sending.run(() => onChosen(password));
      }}
    >
      <h1 id="choose-title">{title}</h1>
      <TextField
        label="New password"
        hint="8 to 256 characters; none of the most common ones."
        type="password"
        autocomplete="new-password"
        required
        value={password}
        onChange={setPassword}
      />
      <TextField
        label="The same again"
        type="password"
        autocomplete="new-password"
        required
        value={again}
        onChange={setAgain}
        aria-invalid={isDifferent ? 'true' : undefined}
      />
      {isDifferent && <p role="alert">The two are not the same.</p>}
      {sending.error && <ErrorNote error={sending.error} />}
      <button type="submit" class="primary" disabled={sending.busy || isDifferent}>
        {verb}
      </button>
      <Button class="quiet" onClick={onCancel} text={cancel} />
    </form>
  );
}
