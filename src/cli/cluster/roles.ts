/** `zoneplane cluster roles`: the roles of PostgreSQL that nodes need, with no more rights than they need. */
import { Option } from 'commander';
import { UserError } from '../../base/errors.js';
import { databaseOf } from '../../cluster/address.js';
import { createRole, grantsToFollower, grantsToWriter, restrictDatabase } from '../../cluster/statements.js';
import { type Command, type CommandContext, example } from '../command.js';
import { addSettingOptions, loadCommandSettings } from '../settings.js';
import { CLUSTER_SETTINGS, requireClusterUrl } from './connect.js';

export interface FollowerOptions {
  readonly follower?: string;
  readonly nodes?: readonly string[];
}

export interface FollowerRole {
  readonly role: string;
  readonly nodes: readonly string[];
}

export const nodesOption = (): Option =>
  new Option(
    '--nodes <names>',
    'with --follower: which nodes the role is, separated by commas; default: the one with the name of the role',
  ).argParser((text: string) =>
    text
      .split(',')
      .map((name) => name.trim())
      .filter(Boolean),
  );

/** Throws a UserError for nodes without a role. */
export function followerOf({ follower: role, nodes = [] }: FollowerOptions): FollowerRole | undefined {
  if (role === undefined && nodes.length > 0)
    throw new UserError('--nodes says which nodes a role is, and needs --follower', 'Name the role with it.', 2);
  return role === undefined ? undefined : { role, nodes: nodes.length > 0 ? nodes : [role] };
}

export function addRoles(cluster: Command, { terminal, environment }: CommandContext): void {
  const roles = cluster
    .command('roles')
    .description('print the SQL that makes roles of PostgreSQL with the rights that nodes need, and no others')
    .option('--follower <role>', 'for nodes that only serve DNS or the edge: it reads the log')
    .addOption(nodesOption())
    .option('--writer <role>', 'for nodes with the admin API, beside the role that made the tables')
    .addHelpText(
      'after',
      `${example('zoneplane cluster roles --follower zoneplane_dns3 --nodes dns3 | psql zoneplane')}

Run it as the role that made the tables, or as a superuser. Whoever takes over a node that follows can then say
something about that node only, and can neither change what all nodes serve nor keep others from writing.`,
    );
  addSettingOptions(roles, CLUSTER_SETTINGS).action((options: FollowerOptions & { readonly writer?: string }) => {
    const { settings } = loadCommandSettings(roles, environment);
    const database = databaseOf(requireClusterUrl(settings));
    const follower = followerOf(options);
    if (!follower && options.writer === undefined)
      throw new UserError('it is not said for which role', 'Name one with --follower, or with --writer.', 2);
    const parts = [
      restrictDatabase(database),
      ...(follower ? [createRole(follower.role, database), grantsToFollower(follower.role, follower.nodes)] : []),
      ...(options.writer === undefined ? [] : [createRole(options.writer, database), grantsToWriter(options.writer)]),
    ];
    terminal.print(parts.join('\n').trim());
  });
}
