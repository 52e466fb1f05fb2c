/** `zoneplane member`: who may do what in an account. */
import { UserError } from '../../base/errors.js';
import { findRole, ROLES } from '../../control/guard/roles.js';
import type { Context } from '../../control/kernel/context.js';
import type { MemberItem } from '../../control/people/item.js';
import { addMember, changeMember, listMembers, removeMember } from '../../control/people/members.js';
import { isSameAddress } from '../../store/access/mail-address.js';
import { accountIdOf } from '../account.js';
import { gather } from '../arguments.js';
import type { Command, CommandContext } from '../command.js';
import { collectPages, DATA_SETTINGS, printInstant, withControl } from '../control.js';
import { addSettingOptions } from '../settings.js';

interface RoleOptions {
  readonly role?: readonly string[];
  readonly invite?: boolean;
  readonly json?: boolean;
}

/** Names of roles as they are typed: words with hyphens. */
const WORDS = new Map(
  ROLES.filter(({ scope }) => scope === 'account').map(({ id, name }) => [
    name
      .replace(/ - .*|, .*|^Cloudflare /g, '')
      .toLowerCase()
      .replace(/[^a-z0-9]+/g, '-'),
    id,
  ]),
);

const ROLE_OPTION = ['--role <name>', `${[...WORDS.keys()].join(', ')}; may be given several times`, gather] as const;

export function addMemberCommands(program: Command, context: CommandContext): void {
  const member = program.command('member');
  addAddition(member, context);
  addList(member, context);
  addRemoval(member, context);
  addRoles(member, context);
}

function addAddition(member: Command, { terminal, environment }: CommandContext): void {
  const command = member
    .command('add')
    .description('make a user a member of an account; the user is created if there is none')
    .argument('<account>', 'its identifier or its name')
    .argument('<email>', 'e-mail address of the user')
    .option(...ROLE_OPTION)
    .option('--invite', 'let the user accept first, within seven days')
    .printsJson('zoneplane member add "Example Ltd" grace@example.com --role dns');
  addSettingOptions(command, DATA_SETTINGS).action(async (name: string, email: string, options: RoleOptions) => {
    const made = await withControl(command, environment, async (control) =>
      addMember(control, await accountIdOf(control, name), {
        email,
        roles: rolesOf(options.role),
        status: options.invite ? 'pending' : 'accepted',
      }),
    );
    if (options.json) terminal.json(view(made));
    else {
      const what = made.status === 'accepted' ? 'is a member now' : 'is invited: the user accepts in the dashboard';
      terminal.print(`${made.email} ${what} (${namesOf(made)})`);
    }
  });
}

function addList(member: Command, { terminal, environment }: CommandContext): void {
  const command = member
    .command('list')
    .description('list the members of an account')
    .argument('<account>', 'its identifier or its name')
    .printsJson('zoneplane member list "Example Ltd"');
  addSettingOptions(command, DATA_SETTINGS).action(async (name: string, { json }: { readonly json?: boolean }) => {
    const members = await withControl(command, environment, (control) => membersOf(control, name));
    if (json) return terminal.json(members.map(view));
    terminal.table(
      ['email', 'roles', 'status', 'second factor', 'last active'],
      members.map((item) => [
        item.email,
        namesOf(item),
        item.invite?.isOver ? 'invitation expired' : item.status,
        item.twoFactor ? 'yes' : 'no',
        item.lastUsedAt === null ? 'never' : printInstant(item.lastUsedAt),
      ]),
      'The account has no members.',
    );
  });
}

function addRemoval(member: Command, { terminal, environment }: CommandContext): void {
  const command = member
    .command('remove')
    .description('end a membership, or withdraw an invitation')
    .argument('<account>', 'its identifier or its name')
    .argument('<email>', 'e-mail address of the user')
    .printsJson('zoneplane member remove "Example Ltd" grace@example.com');
  addSettingOptions(command, DATA_SETTINGS).action(
    async (name: string, email: string, { json }: { readonly json?: boolean }) => {
      const removed = await withControl(command, environment, async (control) => {
        const found = await requireMember(control, name, email);
        return removeMember(control, await accountIdOf(control, name), found.id);
      });
      if (json) terminal.json({ id: removed });
      else terminal.print(`${email} is not a member any more; what the user could do in the account has ended`);
    },
  );
}

function addRoles(member: Command, { terminal, environment }: CommandContext): void {
  const command = member
    .command('role')
    .description('replace the roles of a member')
    .argument('<account>', 'its identifier or its name')
    .argument('<email>', 'e-mail address of the user')
    .option(...ROLE_OPTION)
    .printsJson('zoneplane member role "Example Ltd" grace@example.com --role administrator-read-only');
  addSettingOptions(command, DATA_SETTINGS).action(async (name: string, email: string, options: RoleOptions) => {
    const after = await withControl(command, environment, async (control) => {
      const found = await requireMember(control, name, email);
      return changeMember(control, await accountIdOf(control, name), found.id, { roles: rolesOf(options.role) });
    });
    if (options.json) terminal.json(view(after));
    else terminal.print(`${after.email}: ${namesOf(after)}`);
  });
}

async function membersOf(control: Context, name: string): Promise<readonly MemberItem[]> {
  const account = await accountIdOf(control, name);
  return collectPages((page) => listMembers(control, account, { page, perPage: 1000 }));
}

async function requireMember(control: Context, name: string, email: string): Promise<MemberItem> {
  const found = (await membersOf(control, name)).find((item) => isSameAddress(item.email, email));
  if (!found)
    throw new UserError(`${email} is not a member of the account`, `See \`zoneplane member list "${name}"\`.`);
  return found;
}

/** Identifiers of the named roles; throws a UserError for no role and for an unknown one. */
function rolesOf(names: readonly string[] = []): string[] {
  const known = [...WORDS.keys()].join(', ');
  if (names.length === 0) throw new UserError('no role is given', `Add --role with one of: ${known}.`);
  return names.map((name) => {
    const id = WORDS.get(name.toLowerCase()) ?? (findRole(name)?.scope === 'account' ? name : undefined);
    if (id === undefined) throw new UserError(`'${name}' is not a role`, `The roles are: ${known}.`);
    return id;
  });
}

function namesOf({ roles, policies }: MemberItem): string {
  if (policies.length > 0) return policies.length === 1 ? 'a policy' : `${policies.length} policies`;
  return roles.map((id) => findRole(id)?.name ?? id).join(', ');
}

function view(item: MemberItem): object {
  return {
    id: item.id,
    email: item.email,
    status: item.status,
    roles: item.roles.map((id) => findRole(id)?.name ?? id),
    policies: item.policies,
    two_factor_authentication_enabled: item.twoFactor ?? false,
    last_active_on: item.lastUsedAt === null ? null : printInstant(item.lastUsedAt),
  };
}
