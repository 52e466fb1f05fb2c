/** The own factors: one-time passwords, passkeys, recovery codes. */

import { useState } from 'preact/hooks';
import { call } from '../api.js';
import { Button } from '../kit/button.js';
import { Form, LineForm, TextField } from '../kit/form.js';
import { ListTable } from '../kit/list.js';
import { useLoad, useSending } from '../load.js';
import { HAS_PASSKEYS, makePasskey } from '../passkey.js';
import type { Factors as FactorList } from '../types.js';
import { Confirm } from './confirm.js';
import { Copyable, Curl } from './curl.js';
import { ErrorNote, Loading } from './notes.js';
import { QrCode } from './qr-code.js';
import { Cell, RowHead } from './table.js';
import { Time } from './time.js';

const PATH = '/user/factors';

/** `onChanged`: called when a factor was added or removed. */
export function Factors({ onChanged }: { readonly onChanged?: () => void }) {
  const { answer, error, reload } = useLoad<FactorList>(PATH);
  const changed = (): void => {
    reload();
    onChanged?.();
  };
  if (error) return <ErrorNote error={error} onRetry={reload} />;
  if (!answer) return <Loading what="your factors" />;
  const { totp, passkeys, recovery_codes: left } = answer.result;
  return (
    <>
      <Device isThere={totp} onChanged={changed} />
      <Passkeys passkeys={passkeys} onChanged={changed} />
      {(totp || passkeys.length > 0) && <RecoveryCodes left={left} onChanged={reload} />}
      <Curl request={{ method: 'GET', path: PATH }} />
    </>
  );
}

interface PartProps {
  readonly onChanged: () => void;
}

function Device({ isThere, onChanged }: PartProps & { readonly isThere: boolean }) {
  const [secret, setSecret] = useState<{ readonly secret: string; readonly uri: string }>();
  const [code, setCode] = useState('');
  const sending = useSending();
  const begin = (): void =>
    void sending.run(async () => {
      setSecret((await call<{ secret: string; uri: string }>('POST', '/user/totp')).result);
    });
  const finish = (): void =>
    void sending.run(async () => {
      await call('PUT', '/user/totp', { body: { totp: code } });
      setSecret(undefined);
      setCode('');
      onChanged();
    });
  const remove = (): void =>
    void sending.run(async () => {
      await call('DELETE', '/user/totp');
      onChanged();
    });
  return (
    <section class="panel">
      <h2>One-time passwords</h2>
      {isThere ? (
        <>
          <p>A device shows codes for you.</p>
          {sending.error && <ErrorNote error={sending.error} />}
          <Confirm verb="Remove" what="the device" busy={sending.busy} onConfirm={remove} />
        </>
      ) : secret ? (
        <Form
          sending={sending}
          verb="Confirm the code"
          doing="Checking…"
          onSubmit={finish}
          onCancel={() => setSecret(undefined)}
        >
          <p>
            Scan this with your authenticator, or <a href={secret.uri}>open it there</a>, or type the secret; then type
            the code that it shows.
          </p>
          <QrCode text={secret.uri} label="QR code of the secret" />
          <Copyable text={secret.secret} label="secret" />
          <TextField
            label="Code"
            inputMode="numeric"
            autocomplete="one-time-code"
            required
            narrow
            value={code}
            onChange={setCode}
          />
        </Form>
      ) : (
        <>
          <p>An app on your phone shows a new code every 30 seconds.</p>
          {sending.error && <ErrorNote error={sending.error} />}
          <Button disabled={sending.busy} onClick={begin} text="Add a device" />
        </>
      )}
    </section>
  );
}

function Passkeys({ passkeys, onChanged }: PartProps & { readonly passkeys: FactorList['passkeys'] }) {
  const [name, setName] = useState('');
  const sending = useSending();
  const add = (): void =>
    void sending.run(async () => {
      const passkey = await makePasskey();
      await call('POST', '/user/passkeys', { body: { name, passkey } });
      setName('');
      onChanged();
    });
  const remove = (id: string): void =>
    void sending.run(async () => {
      await call('DELETE', `/user/passkeys/${id}`);
      onChanged();
    });
  return (
    <section class="panel">
      <h2>Passkeys</h2>
      {passkeys.length > 0 && (
        <ListTable
          label="Passkeys"
          columns={['Name', 'Added', 'Used']}
          actions
          items={passkeys}
          keyOf={({ id }) => id}
          row={(passkey) => (
            <tr>
              <RowHead value={<bdi>{passkey.name}</bdi>} />
              <Cell class="muted" value={<Time at={passkey.created_on} />} />
              <td class="muted">{passkey.last_used_on === null ? 'never' : <Time at={passkey.last_used_on} />}</td>
              <td class="row-actions">
                <Confirm
                  verb="Remove"
                  what={`the passkey ${passkey.name}`}
                  busy={sending.busy}
                  quiet
                  onConfirm={() => remove(passkey.id)}
                />
              </td>
            </tr>
          )}
        />
      )}
      {HAS_PASSKEYS ? (
        <LineForm sending={sending} verb="Add a passkey" doing="Waiting for the browser…" onSubmit={add}>
          <TextField label="Name of the new passkey" required maxLength={60} value={name} onChange={setName} />
        </LineForm>
      ) : (
        <p class="hint">This browser has no passkeys here: they need https, or localhost.</p>
      )}
    </section>
  );
}

function RecoveryCodes({ left, onChanged }: PartProps & { readonly left: number }) {
  const [codes, setCodes] = useState<readonly string[]>();
  const sending = useSending();
  const make = (): void =>
    void sending.run(async () => {
      setCodes((await call<{ codes: string[] }>('POST', '/user/recovery_codes')).result.codes);
      onChanged();
    });
  return (
    <section class="panel">
      <h2>Recovery codes</h2>
      <p>
        Each stands once for a second factor that you have lost. {left === 0 ? 'You have none.' : `${left} are left.`}
      </p>
      {codes && (
        <>
          <p role="status">They are shown only once. Keep them where you can find them without this device.</p>
          <Copyable text={codes.join('\n')} label="codes" />
        </>
      )}
      {sending.error && <ErrorNote error={sending.error} />}
      <Button disabled={sending.busy} onClick={make} text={left === 0 ? 'Make codes' : 'Make new codes instead'} />
    </section>
  );
}
