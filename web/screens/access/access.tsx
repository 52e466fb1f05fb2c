/** Who may do what: tokens, the audit log, sessions, accounts. */
import type { ComponentType } from 'preact';
import { Empty } from '../../parts/notes.js';
import { Sessions } from '../../parts/sessions.js';
import { Tabs } from '../../parts/tabs.js';
import type { ScreenProps } from '../../screen.js';
import { type Area, mayRead, usePermissions } from '../../session.js';
import { Accounts } from './accounts.js';
import { AuditLogs } from './audit-logs.js';
import { Tokens } from './tokens.js';

interface Part {
  readonly path: string;
  readonly title: string;
  readonly needs?: Area;
  readonly shown: ComponentType;
}

const PARTS: readonly Part[] = [
  { path: '', title: 'Tokens', needs: 'userTokens', shown: Tokens },
  { path: 'log', title: 'Audit log', needs: 'account', shown: AuditLogs },
  { path: 'sessions', title: 'Sessions', shown: Sessions },
  { path: 'accounts', title: 'Accounts', shown: Accounts },
];

export default function Access({ params }: ScreenProps) {
  const permissions = usePermissions();
  const given = params['part'];
  const parts = PARTS.filter(({ needs }) => !needs || mayRead(permissions, needs));
  const part = given === undefined ? parts[0] : parts.find(({ path }) => path === given);
  const Shown = part?.shown;
  return (
    <>
      <div class="head">
        <h1>Access</h1>
      </div>
      <Tabs
        label="Access"
        tabs={parts.map(({ path, title }) => ({
          href: path === '' ? '/access' : `/access/${path}`,
          title,
          current: path === part?.path,
        }))}
      />
      {Shown ? <Shown /> : <Empty title="There is nothing here" />}
    </>
  );
}
