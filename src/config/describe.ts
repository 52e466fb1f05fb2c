/** Settings in words: the tables of docs/reference.md, the help of flags, and values as an operator reads them. */
import { printHostPort } from './host-names.js';
import { SETTINGS, type Setting, type Settings } from './schema.js';

/** The tables of docs/reference.md in Markdown; a test regenerates them and compares. */
export function describeSettings(): string {
  const groups = [...new Set(SETTINGS.map(({ group }) => group))];
  const tables = groups.map((group) => {
    const rows = SETTINGS.filter((setting) => setting.group === group).map(describeRow);
    return `**${group}**\n\n${printTable(['setting', 'environment', 'default', 'meaning'], rows)}`;
  });
  return tables.join('\n\n');
}

/** A Markdown table with aligned columns. */
function printTable(headers: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = headers.map((header, column) => Math.max(header.length, ...rows.map((row) => row[column]!.length)));
  const print = (cells: readonly string[]): string =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column]!)).join(' | ')} |`;
  return [print(headers), print(widths.map((width) => '-'.repeat(width))), ...rows.map(print)].join('\n');
}

function describeRow(setting: Setting): string[] {
  const { name, environment, secret, flag: plain, summary } = setting;
  const file = `\`--${name}-file\``;
  const flag = secret ? (plain ? `\`--${name}\`, ${file}` : file) : `\`--${name}\``;
  const variable = secret ? `\`${environment}\`, \`${environment}_FILE\`` : `\`${environment}\``;
  return [flag, variable, defaultOf(setting, '`'), summary];
}

/** The default of a setting: `53, or 1053 if …`, `./data`; plain values between `quote`. */
function defaultOf(setting: Setting, quote = ''): string {
  if (setting.defaultText !== undefined) return setting.defaultText;
  const value = printValue(setting, setting.schema.parse(undefined) as Settings[keyof Settings]);
  return value === '' ? 'empty' : `${quote}${value}${quote}`;
}

/** Help of the setting's flag: its meaning, environment variable and default. */
export function flagHelp(setting: Setting): string {
  return `${setting.summary.replaceAll('`', '')} (${setting.environment}; default: ${defaultOf(setting)})`;
}

/** A value as written in a file or variable; secrets are hidden, absent values are ''. */
export function printValue(setting: Setting, value: Settings[keyof Settings]): string {
  if (value === undefined) return '';
  if (setting.secret) return '(secret)';
  if (!Array.isArray(value)) return String(value);
  return value.map((entry) => (typeof entry === 'object' && 'host' in entry ? printHostPort(entry) : entry)).join(',');
}
