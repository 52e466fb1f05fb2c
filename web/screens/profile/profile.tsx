/** The person who is signed in: password, second factors, sessions, tokens. */
import { useState } from 'preact/hooks';
import { Form, TextField } from '../../kit/form.js';
import { useSending } from '../../load.js';
import { Curl } from '../../parts/curl.js';
import { Factors } from '../../parts/factors.js';
import { Empty } from '../../parts/notes.js';
import { Sessions } from '../../parts/sessions.js';
import { Link } from '../../router.js';
import { usePermissions } from '../../session.js';

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
      <Password />
      <Factors />
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
