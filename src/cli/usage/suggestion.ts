/** What somebody means who types a command that does not exist: our word for it, from the words of other systems and from typing errors. */

import { nearMatch } from '../../config/near-match.js';
import type { Command } from '../command.js';

/** What other name servers, clouds and their tools call what a command here is about. */
const OTHER_NAMES: readonly (readonly [commands: readonly string[], names: string])[] = [
  [['key'], 'token apitoken apikey credential permission password accesskey'],
  [['key', 'account'], 'user member'],
  [['account'], 'org organization organisation tenant team project'],
  [['zone'], 'domain site'],
  [['zone', 'record'], 'dns'],
  [['record'], 'rr rrset dnsrecord recordset entry'],
  [['zone check'], 'checkzone lint validate'],
  [['zone transfer', 'secondary'], 'axfr xfr'],
  [['certificate'], 'cert ssl tls acme letsencrypt'],
  [['hostname'], 'host customhostname vhost saas'],
  [['bucket'], 's3 r2 storage object blob'],
  [['secondary'], 'slave replica peer catalog'],
  [['dnssec'], 'dnskey ds sign cryptokey rollover'],
  [['tsig'], 'nsupdate keygen tsigkey ddns'],
  [['webhook'], 'alert notification hook notify subscribe'],
  [['events'], 'event audit tail watch follow'],
  [['dashboard'], 'login signin ui web gui admin'],
  [['explain'], 'query dig lookup resolve trace'],
  [['serve'], 'start run up server daemon stop restart reload'],
  [['healthcheck', 'doctor'], 'health ping check status diagnose'],
  [['config'], 'setting env environment option'],
  [['backup'], 'dump snapshot'],
  [['cluster'], 'node ha raft'],
  [['job'], 'cron queue task'],
  [['vault'], 'masterkey'],
  [['completion'], 'man manual bash zsh fish shell'],
];

/** Verbs for one thing. A command that has another word of a row is what is meant; the first of them is the most likely one. */
const VERBS: readonly (readonly string[])[] = [
  ['create', 'add', 'put', 'enable', 'init', 'new', 'make', 'insert', 'set', 'register'],
  ['delete', 'remove', 'revoke', 'disable', 'leave', 'rm', 'del', 'destroy', 'drop', 'unset'],
  ['list', 'ls', 'all', 'index'],
  ['show', 'info', 'status', 'get', 'describe', 'view', 'inspect', 'cat', 'list', 'export', 'print'],
  ['update', 'put', 'edit', 'change', 'modify', 'set', 'replace', 'patch', 'allow', 'refresh', 'settings'],
  ['import', 'load', 'upload', 'restore'],
  ['export', 'dump', 'download', 'backup'],
  ['rotate', 'rollover', 'roll'],
  ['transfer', 'axfr', 'xfr'],
];

/** More of them would be a list of commands, which the help is. */
const MOST_DESCRIBED = 3;

/**
 * The complaint about the first of `words`, which is not a command of `group`, with what is probably meant. `group` must have all
 * commands that can be meant.
 */
export function complainUnknown(group: Command, words: readonly string[]): string {
  const meant = findMeant(group, words);
  const names = meant.map((command) => placeOf(command).slice(placeOf(group).length));
  const texts = names.map((path) => path.join(' '));
  const lines = [`error: unknown command '${words[0]}'`];
  if (texts.length === 1) lines.push(`(Did you mean ${texts[0]}?)`);
  if (texts.length > 1) lines.push(`(Did you mean one of ${texts.join(', ')}?)`);
  if (meant.length <= MOST_DESCRIBED) {
    for (const command of meant) lines.push(`  ${placeOf(command).join(' ')}: ${command.description()}`);
  }
  return lines.join('\n');
}

function findMeant(group: Command, [word, ...rest]: readonly string[]): readonly Command[] {
  if (word === undefined) return [];
  const renamed = group.parent === null ? otherNamed(group, word) : [];
  if (renamed.length > 0) return renamed.map((command) => followed(command, rest));
  const near = nearMatch(
    word,
    group.commands.map((child) => child.name()),
  );
  if (near !== undefined) return group.commands.filter((child) => child.name() === near);
  // At the top there are things, each of which has its own verbs: `list` means one of `zone list`, `record list` and so on.
  return group.parent === null ? group.commands.flatMap((child) => withVerb(child, word)) : sameVerb(group, word);
}

/**
 * The commands that must be loaded to say what an unknown word means, of those with these names: those that others call so, or all if
 * it is a verb. A typing error needs none.
 */
export function commandsToLoad(word: string, names: readonly string[]): readonly string[] {
  if (VERBS.some((row) => row.includes(word.toLowerCase()))) return names;
  return pathsOf(word).map((path) => path.split(' ')[0]!);
}

/** What other systems call by this word; and what has it as a verb, as `status`. */
function otherNamed(group: Command, word: string): readonly Command[] {
  const named = pathsOf(word).flatMap((path) => below(group, path.split(' ')));
  if (named.length === 0) return [];
  return [...named, ...group.commands.flatMap((child) => child.commands.filter((verb) => verb.name() === word))];
}

function pathsOf(word: string): readonly string[] {
  const typed = fold(word);
  const rows = OTHER_NAMES.filter(([, names]) => {
    const known = names.split(' ');
    return known.includes(typed) || known.includes(typed.replace(/s$/, ''));
  });
  return rows.flatMap(([paths]) => paths);
}

/** The command below `command` that the next word means: `token create` means `key create`, and `domain add` `zone create`. */
function followed(command: Command, [next]: readonly string[]): Command {
  return (next !== undefined && withVerb(command, next)[0]) || command;
}

function withVerb(group: Command, word: string): readonly Command[] {
  const exact = group.commands.filter((child) => child.name() === word);
  return exact.length > 0 ? exact : sameVerb(group, word, 1).slice(0, 1);
}

/** The commands of a group whose name is another word for this verb in the first `most` rows that have it, the most likely one first. */
function sameVerb(group: Command, word: string, most = VERBS.length): readonly Command[] {
  const typed = word.toLowerCase();
  const rows = VERBS.filter((row) => row.includes(typed)).slice(0, most);
  return [...new Set(rows.flat())].flatMap((name) => group.commands.filter((child) => child.name() === name));
}

function below(group: Command, path: readonly string[]): readonly Command[] {
  const [name, ...rest] = path;
  if (name === undefined) return [group];
  return group.commands.filter((child) => child.name() === name).flatMap((child) => below(child, rest));
}

function placeOf(command: Command): readonly string[] {
  return command.parent === null ? [command.name()] : [...placeOf(command.parent), command.name()];
}

/** `API-Tokens` and `api_tokens` are one word. */
function fold(word: string): string {
  return word.toLowerCase().replace(/[^a-z0-9]/g, '');
}
