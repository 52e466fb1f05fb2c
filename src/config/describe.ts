/** Settings in words: the reference of the README, the flags' help, and values as an operator sees them. */
import { printHostPort, SETTINGS, type Setting, type Settings } from './schema.js';

/** The README's reference, as Markdown; a test regenerates it and demands no difference. */
export function describeSettings(): string {
  const groups = [...new Set(SETTINGS.filter(({ inert }) => !inert).map(({ group }) => group))];
  const tables = groups.map((group) => {
    const rows = SETTINGS.filter((setting) => setting.group === group && !setting.inert).map(describeRow);
    return `**${group}**\n\n${printTable(['setting', 'environment', 'default', 'what it says'], rows)}`;
  });
  return [...tables, describeInert()].join('\n\n');
}

/** A Markdown table with aligned columns. */
function printTable(headers: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = headers.map((header, column) => Math.max(header.length, ...rows.map((row) => row[column]!.length)));
  const print = (cells: readonly string[]): string =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column]!)).join(' | ')} |`;
  return [print(headers), print(widths.map((width) => '-'.repeat(width))), ...rows.map(print)].join('\n');
}

function describeRow(setting: Setting): string[] {
  const { name, environment, secret, summary } = setting;
  const flag = secret ? `\`--${name}-file\`` : `\`--${name}\``;
  const variable = secret ? `\`${environment}\`, \`${environment}_FILE\`` : `\`${environment}\``;
  return [flag, variable, defaultOf(setting, '`'), summary];
}

function describeInert(): string {
  const reasons = [...new Set(SETTINGS.map(({ inert }) => inert).filter((inert) => inert !== undefined))];
  const lines = reasons.map((reason) => {
    const names = SETTINGS.filter(({ inert }) => inert === reason).map(({ environment }) => `\`${environment}\``);
    return `- ${reason}: ${names.join(', ')}`;
  });
  return [
    '**Accepted, checked, and without effect in this version** (`serve` says so when one is set)',
    '',
    ...lines,
  ].join('\n');
}

/** The default of a setting: `53, or 1053 where …`, `./data`; plain values between `quote`. */
function defaultOf(setting: Setting, quote = ''): string {
  if (setting.defaultText !== undefined) return setting.defaultText;
  const value = printValue(setting, setting.schema.parse(undefined) as Settings[keyof Settings]);
  return value === '' ? 'empty' : `${quote}${value}${quote}`;
}

/** Help of the setting's flag: what it says, its environment variable, its default. */
export function flagHelp(setting: Setting): string {
  return `${setting.summary.replaceAll('`', '')} (${setting.environment}; default: ${defaultOf(setting)})`;
}

/** A value as typed in a file or variable; secrets are hidden, absent values are ''. */
export function printValue(setting: Setting, value: Settings[keyof Settings]): string {
  if (value === undefined) return '';
  if (setting.secret) return '(secret)';
  if (!Array.isArray(value)) return String(value);
  return value.map((entry) => (typeof entry === 'object' && 'host' in entry ? printHostPort(entry) : entry)).join(',');
}
