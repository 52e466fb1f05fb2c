/** Proving who one is with a second factor or the password: the form that asks for one of them. */
import { useState } from 'preact/hooks';
import { TextField } from '../kit/form.js';
import type { Sending } from '../load.js';
import { answerWithPasskey, HAS_PASSKEYS } from '../passkey.js';
import { ErrorNote } from './notes.js';

const FACTOR_NAMES: Readonly<Record<string, string>> = {
  password: 'Password',
  totp: 'Code of your device',
  recovery: 'Recovery code',
  passkey: 'Passkey',
};

interface FactorFormProps {
  /** Of which one is asked for. */
  readonly methods: readonly string[];
  readonly sending: Sending;
  readonly verb: string;
  /** Gets what is sent: `{ totp: … }`. */
  readonly onFactor: (factor: Record<string, unknown>) => Promise<void>;
  /** What a passkey is asked. */
  readonly question: () => Promise<Record<string, unknown>>;
}

export function FactorForm({ methods, sending, verb, onFactor, question }: FactorFormProps) {
  const usable = methods.filter((method) => method !== 'passkey' || HAS_PASSKEYS);
  const [method, setMethod] = useState(usable[0]);
  const [text, setText] = useState('');
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    if (method === undefined) return;
    void sending.run(async () => {
      const value = method === 'passkey' ? await answerWithPasskey(await question()) : text.trim();
      await onFactor({ [method]: value });
    });
  };
  return (
    <form onSubmit={submit} class="form">
      {usable.length > 1 && (
        <fieldset class="segments">
          <legend class="hidden">Prove it with</legend>
          {usable.map((name) => (
            <label key={name}>
              <input type="radio" name="factor" checked={method === name} onChange={() => setMethod(name)} />
              <span>{FACTOR_NAMES[name]}</span>
            </label>
          ))}
        </fieldset>
      )}
      {method === undefined && <p>This browser supports none of the ways in which you can prove who you are.</p>}
      {method !== undefined && method !== 'passkey' && (
        <TextField
          key={method}
          label={FACTOR_NAMES[method]}
          type={method === 'password' ? 'password' : 'text'}
          {...(method === 'totp' && { inputMode: 'numeric' as const })}
          autocomplete={method === 'password' ? 'current-password' : method === 'totp' ? 'one-time-code' : 'off'}
          required
          value={text}
          onChange={setText}
        />
      )}
      {sending.error && <ErrorNote error={sending.error} />}
      <button type="submit" class="primary" disabled={sending.busy || method === undefined}>
        {sending.busy ? 'Checking…' : verb}
      </button>
    </form>
  );
}
