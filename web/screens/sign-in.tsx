/** Signing in: with a key, a token, or the link that the program printed. */

import { useEffect, useRef, useState } from 'preact/hooks';
import { call } from '../api.js';
import { Mark } from '../frame.js';
import { Field, TextField } from '../kit/form.js';
import { type Sending, useSending } from '../load.js';
import { useModal } from '../parts/dialog.js';
import { ErrorNote, Loading } from '../parts/notes.js';
import { oneWord } from '../parts/typed.js';

type Kind = 'token' | 'key';

/** The secret of a sign-in link. It stands behind the `#`, which browsers do not send, so no log has it. */
function linkIn(address: string): string | undefined {
  return /#link=([\w-]+)$/.exec(address)?.[1];
}

interface SignInProps {
  readonly onSignedIn: () => Promise<void>;
}

/** Escape must not reach the form under the dialog, which would throw away what was typed there. */
function keepOpen(event: KeyboardEvent): void {
  if (event.key === 'Escape') event.preventDefault();
}

/** Over a screen whose session has ended: nothing that was typed is lost. */
export function SignInAgain({ onSignedIn }: SignInProps) {
  const dialog = useModal();
  useEffect(() => {
    const { title } = document;
    dialog.current?.querySelector<HTMLElement>('input[type="password"]')?.focus();
    return () => {
      document.title = title;
    };
  }, []);
  return (
    <dialog
      ref={dialog}
      class="again"
      aria-labelledby="sign-in-title"
      onKeyDown={keepOpen}
      onClose={() => dialog.current?.showModal()}
    >
      <SignIn
        onSignedIn={onSignedIn}
        notice="Your session has ended. Sign in again to go on: what you typed is kept."
      />
    </dialog>
  );
}

/** Over a screen of one person after another has signed in, in another tab: the browser has one session for all of them. */
export function OtherPerson({ email }: { readonly email: string }) {
  const dialog = useModal();
  return (
    <dialog
      ref={dialog}
      class="again"
      aria-labelledby="other-title"
      onKeyDown={keepOpen}
      onClose={() => dialog.current?.showModal()}
    >
      <div class="sign-in">
        <div class="brand">
          <Mark />
          Zoneplane
        </div>
        <form
          onSubmit={(event) => {
            event.preventDefault();
            location.reload();
          }}
        >
          <h1 id="other-title">Somebody else has signed in</h1>
          <p>
            In another tab of this browser, {email} has signed in. What you typed here is kept until you go on: it is
            there again when you sign in as yourself in that tab.
          </p>
          <button type="submit" class="primary">
            Go on as {email}
          </button>
        </form>
      </div>
    </dialog>
  );
}

export function SignIn({ onSignedIn, notice }: SignInProps & { readonly notice?: string }) {
  const { sending, byLink, enterByLink, exchange } = useSignIn(onSignedIn);
  const submit = ({ kind, email, secret }: Credential): void => {
    const text = oneWord(secret);
    const link = linkIn(text);
    if (link !== undefined) enterByLink(link);
    else if (kind === 'token') void exchange({ authorization: `Bearer ${text}` });
    else void exchange({ 'x-auth-email': oneWord(email), 'x-auth-key': text });
  };
  return (
    <div class="sign-in">
      <div class="brand">
        <Mark />
        Zoneplane
      </div>
      {byLink ? (
        <Loading what="the dashboard: signing in with the link" />
      ) : (
        <CredentialForm sending={sending} notice={notice} onSubmit={submit} />
      )}
    </div>
  );
}

/** Exchanges a credential for a session; a link in the address is taken at once. */
function useSignIn(onSignedIn: () => Promise<void>) {
  const [byLink, setByLink] = useState(false);
  const sending = useSending();
  const exchange = (headers: Record<string, string>): Promise<boolean> =>
    sending.run(async () => {
      await call('POST', '/user/sessions', { headers });
      await onSignedIn();
    });
  const enterByLink = (link: string): void => {
    setByLink(true);
    void exchange({ authorization: `Login-Link ${link}` }).then(() => setByLink(false));
  };
  useEffect(() => {
    document.title = 'Sign in – Zoneplane';
    const takeFromAddress = (): void => {
      const link = linkIn(location.hash);
      if (link === undefined) return;
      history.replaceState(null, '', location.pathname + location.search);
      enterByLink(link);
    };
    takeFromAddress();
    // A link pasted into the address of this page changes only what follows the `#`, which loads nothing.
    window.addEventListener('hashchange', takeFromAddress);
    return () => window.removeEventListener('hashchange', takeFromAddress);
  }, []);
  return { sending, byLink, enterByLink, exchange };
}

interface Credential {
  readonly kind: Kind;
  readonly email: string;
  readonly secret: string;
}

interface CredentialFormProps {
  readonly sending: Sending;
  readonly notice: string | undefined;
  readonly onSubmit: (credential: Credential) => void;
}

function CredentialForm({ sending, notice, onSubmit }: CredentialFormProps) {
  const [credential, setCredential] = useState<Credential>({ kind: 'key', email: 'admin@localhost', secret: '' });
  const { kind, email, secret } = credential;
  const set = (change: Partial<Credential>): void => setCredential((before) => ({ ...before, ...change }));
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => field.current?.focus(), []);
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    onSubmit(credential);
  };
  return (
    <form onSubmit={submit} aria-labelledby="sign-in-title">
      <h1 id="sign-in-title">Sign in</h1>
      {notice !== undefined && <p role="status">{notice}</p>}
      <fieldset class="segments">
        <legend class="hidden">Sign in with</legend>
        {(['key', 'token'] as const).map((name) => (
          <label key={name}>
            <input type="radio" name="kind" checked={kind === name} onChange={() => set({ kind: name })} />
            <span>{name === 'key' ? 'Key and e-mail' : 'API token'}</span>
          </label>
        ))}
      </fieldset>
      {kind === 'key' && (
        <TextField
          label="E-mail address"
          inputMode="email"
          autocomplete="username"
          required
          value={email}
          onChange={(email) => set({ email })}
        />
      )}
      <Field label={kind === 'key' ? 'Key' : 'Token'}>
        <input
          ref={field}
          type="password"
          autocomplete="current-password"
          required
          value={secret}
          onInput={(event) => set({ secret: event.currentTarget.value })}
        />
      </Field>
      {sending.error && <ErrorNote error={sending.error} />}
      <button type="submit" class="primary" disabled={sending.busy}>
        {sending.busy ? 'Signing in…' : 'Sign in'}
      </button>
      <p class="hint">
        The first start printed a key, or wrote it to <code class="flag">initial-key</code> in the data directory. No
        key at hand? <code>zoneplane dashboard link</code> prints a link that signs you in.
      </p>
    </form>
  );
}
