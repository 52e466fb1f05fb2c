/** Settings on the command line: flags made from the schema, and loading with their values. */

import { Option } from 'commander';
import { UserError } from '../base/errors.js';
import { flagHelp } from '../config/describe.js';
import { type LoadedSettings, loadSettings } from '../config/load.js';
import { SETTINGS, type SettingKey, type Settings } from '../config/schema.js';
import { readRunning } from '../roles/process/data-directory.js';
import type { Command } from './command.js';

/** Read unless another file is named. */
const DEFAULT_CONFIG_FILE = '/etc/zoneplane/zoneplane.yaml';

/** The settings that a command takes as flags: other options of it may have the name of a setting. */
const taken = new WeakMap<Command, Set<SettingKey>>();

/** Adds `--config` and a flag for each named setting (all, if none is named). Secrets only as `…-file`. */
export function addSettingOptions(command: Command, keys?: readonly SettingKey[]): Command {
  command.addOption(
    new Option(
      '--config <file>',
      `configuration file, JSON or YAML (ZONEPLANE_CONFIG; default: ${DEFAULT_CONFIG_FILE} if it is there)`,
    ),
  );
  const own = taken.get(command) ?? new Set();
  taken.set(command, own);
  for (const setting of SETTINGS) {
    if (keys && !keys.includes(setting.key)) continue;
    own.add(setting.key);
    const suffix = setting.secret ? '-file' : '';
    const value = setting.secret ? 'file' : setting.value;
    command.addOption(new Option(`--${setting.name}${suffix} <${value}>`, flagHelp(setting)));
    if (setting.flag)
      command.addOption(new Option(`--${setting.name} <${setting.value}>`, 'the same, without a password'));
  }
  return command;
}

/** The settings as this command line, the environment and the configuration file give them. Throws a UserError. */
export function loadCommandSettings(
  command: Command,
  environment: Readonly<Record<string, string | undefined>>,
): LoadedSettings {
  const options = command.opts<Record<string, string | undefined>>();
  const flags: Record<string, string | undefined> = {};
  for (const { key, name, secret, flag } of SETTINGS) {
    if (!taken.get(command)?.has(key)) continue;
    flags[name] = secret && !flag ? undefined : options[key];
    if (flag && options[key] !== undefined) refuseSecret(name, options[key], flag.hasSecret);
    if (secret) flags[`${name}-file`] = options[`${key}File`];
  }
  return loadSettings({ flags, environment, file: options['config'], defaultFile: DEFAULT_CONFIG_FILE });
}

/**
 * The settings of the server that runs on the data directory, where this command line sets nothing else: what this terminal's
 * environment says may be about another one. Secrets are not told; they stay as they are.
 */
export function withRunningSettings(loaded: LoadedSettings): LoadedSettings {
  const told = readRunning(loaded.settings.dataDir)?.settings;
  if (!told) return loaded;
  const others = SETTINGS.filter(
    ({ key, secret }) => !secret && key !== 'dataDir' && loaded.origins[key].kind !== 'flag',
  );
  // A setting that is not told is not set there.
  const theirs = Object.fromEntries(others.map(({ key }) => [key, told[key]]));
  return { ...loaded, settings: { ...loaded.settings, ...theirs } as Settings };
}

/** Other users of the machine see command lines. */
function refuseSecret(name: string, value: string, hasSecret: (value: string) => boolean): void {
  if (!hasSecret(value)) return;
  throw new UserError(
    `--${name} contains a password, which every user of this machine can read`,
    `Put the value into a file for --${name}-file, or into the environment.`,
    2,
  );
}
