/** The person who is signed in: password, second factors, sessions, tokens. */
import { useState } from 'preact/hooks';
import { call } from '../../api.js';
import { Form, TextField } from '../../kit/form.js';
import { useLoad, useSending } from '../../load.js';
import { Curl } from '../../parts/curl.js';
import { Factors } from '../../parts/factors.js';
import { Empty, ErrorNote } from '../../parts/notes.js';
import { Sessions } from '../../parts/sessions.js';
import { Link } from '../../router.js';
import { tellRights, usePermissions } from '../../session.js';
import type { Ways } from '../../types.js';
import { Invitations, Memberships } from './invitations.js';

export default function Profile() {
  const { email, session } = usePermissions();
  if (!session?.person) {
    return (
      <Empty title="This session works with a key or token" isAlone>
        <p>
          Only a person who signs in as themself has a profile. See <Link href="/access">Access</Link>.
        </p>
      </Empty>
    );
  }
  return (
    <>
      <div class="head">
        <h1>Profile</h1>
        <p class="muted">{email}</p>
      </div>
      <Invitations onAnswered={tellRights} />
      <Password />
      <Factors />
      <Providers />
      <Memberships onLeft={tellRights} />
      <section class="panel">
        <h2>Sessions</h2>
        <Sessions />
      </section>
      <section class="panel">
        <h2>Tokens</h2>
        <p>
          Programs have tokens. <Link href="/access">See yours</Link>
        </p>
      </section>
    </>
  );
}

/** Who one is at identity providers. */
function Providers() {
  const { answer } = useLoad<Ways>('/user/sign_in');
  const sending = useSending();
  const providers = answer?.result.providers ?? [];
  if (providers.length === 0) return null;
  const link = (provider: string): void =>
    void sending.run(async () => {
      const { result } = await call<{ location: string }>('POST', '/user/sso_link', { body: { provider } });
      location.assign(result.location);
    });
  return (
    <section class="panel">
      <h2>Single sign-on</h2>
      <p>Linked to a provider, you can sign in there instead.</p>
      {sending.error && <ErrorNote error={sending.error} />}
      <div class="actions">
        {providers.map(({ id, name }) => (
          <button key={id} type="button" disabled={sending.busy} onClick={() => link(id)}>
            Link {name}
          </button>
        ))}
      </div>
    </section>
  );
}

function Password() {
  const [current, setCurrent] = useState('');
  const [next, setNext] = useState('');
  const [isDone, setDone] = useState(false);
  const sending = useSending(() => {
    setCurrent('');
    setNext('');
    setDone(true);
  });
  const body = { ...(current !== '' && { current }), new: next };
  return (
    <section class="panel">
      <h2>Password</h2>
      <Form
        sending={sending}
        verb="Change the password"
        doing="Changing…"
        onSubmit={() => sending.send('PUT', '/user/password', { body })}
      >
        <TextField
          label="Present password"
          hint="Empty if there is none yet."
          type="password"
          autocomplete="current-password"
          value={current}
          onChange={setCurrent}
        />
        <TextField
          label="New password"
          hint="8 to 256 characters. Your other sessions end."
          type="password"
          autocomplete="new-password"
          required
          value={next}
          onChange={setNext}
        />
        {isDone && <p role="status">The password is changed.</p>}
      </Form>
      <Curl request={{ method: 'PUT', path: '/user/password', body: { current: '…', new: '…' } }} />
    </section>
  );
}
