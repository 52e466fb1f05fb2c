/** Who may do what: tokens, members, single sign-on, the audit log, sessions, accounts. */
import type { ComponentType } from 'preact';
import { Empty } from '../../parts/notes.js';
import { Sessions } from '../../parts/sessions.js';
import { Tabs } from '../../parts/tabs.js';
import type { ScreenProps } from '../../screen.js';
import { type Area, mayRead, usePermissions } from '../../session.js';
import { Accounts } from './accounts.js';
import { AuditLogs } from './audit-logs.js';
import { Groups } from './people/groups.js';
import { Members } from './people/members.js';
import { Roles } from './people/roles.js';
import { Providers } from './sso/providers.js';
import { Tokens } from './tokens.js';

interface Part {
  readonly path: string;
  readonly title: string;
  readonly needs?: Area;
  /** Whether only administrators of the installation see it. */
  readonly ofInstallation?: boolean;
  readonly shown: ComponentType;
}

const PARTS: readonly Part[] = [
  { path: '', title: 'Tokens', needs: 'userTokens', shown: Tokens },
  { path: 'members', title: 'Members', needs: 'members', shown: Members },
  { path: 'groups', title: 'Groups', needs: 'members', shown: Groups },
  { path: 'roles', title: 'Roles', needs: 'members', shown: Roles },
  { path: 'sso', title: 'Single sign-on', ofInstallation: true, shown: Providers },
  { path: 'log', title: 'Audit log', needs: 'audit', shown: AuditLogs },
  { path: 'sessions', title: 'Sessions', shown: Sessions },
  { path: 'accounts', title: 'Accounts', shown: Accounts },
];

export default function Access({ params }: ScreenProps) {
  const permissions = usePermissions();
  const given = params['part'];
  const parts = PARTS.filter(
    ({ needs, ofInstallation }) =>
      (!needs || mayRead(permissions, needs)) && (!ofInstallation || permissions.administrator),
  );
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
