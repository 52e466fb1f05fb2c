/** Invites somebody, and shows the link to hand on if no message is sent. */

import { useState } from 'preact/hooks';
import { call } from '../../../api.js';
import { Button } from '../../../kit/button.js';
import { Form, TextField } from '../../../kit/form.js';
import { useSending } from '../../../load.js';
import { Copyable, Curl } from '../../../parts/curl.js';
import { Panel } from '../../../parts/facts.js';
import type { InvitationSent, Member, Ways } from '../../../types.js';
import { AssignmentFields, bodyOf, isAssigned, UNASSIGNED } from './assignment.js';

interface InviteProps {
  readonly account: string;
  readonly onInvited: (sent: InvitationSent) => void;
  readonly onCancel: () => void;
}

export function Invite({ account, onInvited, onCancel }: InviteProps) {
  const [email, setEmail] = useState('');
  const [value, setValue] = useState(UNASSIGNED);
  const sending = useSending();
  const path = `/accounts/${account}/members`;
  const submit = (): void =>
    void sending.run(async () => {
      const body = { email: email.trim(), ...(await bodyOf(account, value)) };
      const { result: member } = await call<Member>('POST', path, { body });
      const { mail } = (await call<Ways>('GET', '/user/sign_in')).result;
      // Without mail, somebody must hand a link on.
      const isTold = mail || member.status === 'accepted';
      const told: InvitationSent = { member, mailed: true, link: null };
      onInvited(isTold ? told : (await call<InvitationSent>('POST', `${path}/${member.id}/invitation`)).result);
    });
  return (
    <Panel title="Invite a member">
      <Form
        sending={sending}
        verb="Invite"
        doing="Inviting…"
        disabled={!isAssigned(value)}
        onSubmit={submit}
        onCancel={onCancel}
      >
        <TextField
          label="E-mail address"
          type="email"
          autocomplete="off"
          required
          autofocus
          value={email}
          placeholder="grace@example.com"
          onChange={setEmail}
        />
        <AssignmentFields account={account} value={value} onChange={setValue} />
      </Form>
      <Curl request={{ method: 'POST', path, body: { email, roles: [{ id: 'ROLE' }] } }} />
    </Panel>
  );
}

/** Tells how the invited person gets the invitation. */
export function HandOn({ sent, onClose }: { readonly sent: InvitationSent; readonly onClose: () => void }) {
  const { member, mailed, link } = sent;
  return (
    <Panel title={`${member.email} is invited`}>
      {mailed && <p role="status">A message was sent. It says how to answer within seven days.</p>}
      {!mailed && link !== null && (
        <>
          <p role="status">
            Give this link to them and to nobody else: whoever opens it chooses the password of this user. It works
            once, for seven days.
          </p>
          <Copyable text={new URL(link, location.origin).href} label="link" />
        </>
      )}
      {!mailed && link === null && (
        <p role="status">
          No message was sent. Tell them to sign in and answer. If they have no password yet, an administrator of this
          server can help.
        </p>
      )}
      <div class="actions">
        <Button onClick={onClose} text="Done" />
      </div>
    </Panel>
  );
}
