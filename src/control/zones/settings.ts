/**
 * Use cases of the settings of a zone that have a name and a value (v4: §14): how its edge serves it, and, which is ours,
 * whether each custom hostname must lead to a name of its own.
 */
import type { AppError } from '../../base/errors.js';
import {
  SETTINGS_IN_COLUMNS,
  type ZoneSettingName,
  type ZoneSettings,
  zoneSettings,
} from '../../serving/zone-settings.js';
import { putZoneSetting, zoneSettingRows } from '../../store/zones/settings.js';
import { findZone, type ZoneChange, type ZoneRow } from '../../store/zones/zones.js';
import { requireZone } from '../guard/access.js';
import { commitAndRead, type Draft } from '../kernel/commit.js';
import type { Context } from '../kernel/context.js';
import { zoneFailure } from '../rules/zone-failures.js';
import { developmentModeSeconds, planDevelopmentModeEnd } from './development-mode.js';
import { asksForProtection, FIXED_SETTINGS, readSettingValue, ZONE_SETTING_NAMES } from './setting-values.js';
import { applyChange } from './write.js';

export interface ZoneSettingItem {
  readonly name: string;
  readonly value: ZoneSettings[ZoneSettingName] | string;
  /** False for what the edge does not do. */
  readonly isEditable: boolean;
  /** Microseconds since 1970; null until changed. */
  readonly modifiedAt: number | null;
  /** Of `development_mode`: seconds until it ends by itself; 0 while it is off. */
  readonly timeRemaining?: number;
}

export async function listZoneSettings(ctx: Context, zoneId: string): Promise<ZoneSettingItem[]> {
  const zone = requireZone(ctx, zoneId);
  const own = ctx.store.snapshot(() => ZONE_SETTING_NAMES.map((name) => settingItem(ctx, zone, name)));
  return [...own, ...Object.keys(FIXED_SETTINGS).map(fixedItem)];
}

export async function getZoneSetting(ctx: Context, zoneId: string, name: string): Promise<ZoneSettingItem> {
  const zone = requireZone(ctx, zoneId);
  return isFixed(name) ? fixedItem(name) : settingItem(ctx, zone, requireName(name));
}

/** PATCH with an unchecked value; setting the current value changes nothing. */
export async function editZoneSetting(
  ctx: Context,
  zoneId: string,
  name: string,
  sent: unknown,
): Promise<ZoneSettingItem> {
  requireZone(ctx, zoneId);
  const fault = faultOf(name, sent, '');
  if (fault) throw fault;
  if (isFixed(name)) return fixedItem(name);
  const [item] = await writeSettings(ctx, zoneId, [readSetting(name, sent, '')]);
  return item!;
}

export interface EditedSettings {
  /** Those that were sent, in their order, with the values that they have now. */
  readonly items: readonly ZoneSettingItem[];
  /** Why others were left out: no setting has the name, or a fixed setting cannot have the value. */
  readonly leftOut: readonly AppError[];
}

/**
 * The same for several settings, all or none of those that can be set: a client that knows more settings, or repeats what a zone has
 * at the vendor, must not fail for that. Throws when none of them can be set, and when a protection is asked for that does not exist.
 */
export async function editZoneSettings(
  ctx: Context,
  zoneId: string,
  sent: readonly { readonly id: string; readonly value?: unknown }[],
): Promise<EditedSettings> {
  requireZone(ctx, zoneId);
  const leftOut = sent.flatMap(({ id, value }, i) => {
    const fault = faultOf(id, value, `/items/${i}`);
    if (fault && asksForProtection(id, value)) throw fault;
    return fault ?? [];
  });
  if (leftOut.length === sent.length && leftOut[0]) throw leftOut[0];
  const fixed = sent.flatMap(({ id }) => (isFixed(id) ? [fixedItem(id)] : []));
  const edits = sent.flatMap(({ id, value }, i) => (isKnown(id) ? [readSetting(id, value, `/items/${i}`)] : []));
  const written = edits.length === 0 ? [] : await writeSettings(ctx, zoneId, edits);
  const items = [...written, ...fixed];
  const inOrder = sent.flatMap(({ id }) => items.find(({ name }) => name === id) ?? []);
  return { items: inOrder, leftOut };
}

const isFixed = (name: string): boolean => Object.hasOwn(FIXED_SETTINGS, name);
const isKnown = (text: string): boolean => ZONE_SETTING_NAMES.some((name) => name === text);

function fixedItem(name: string): ZoneSettingItem {
  return { name, value: FIXED_SETTINGS[name]!, isEditable: false, modifiedAt: null };
}

/** Why a setting cannot be set to a value, as far as that does not depend on the setting's own rule. */
function faultOf(name: string, sent: unknown, place: string): AppError | undefined {
  if (isKnown(name)) return undefined;
  if (!isFixed(name)) return zoneFailure('settingUnknown', { name: name.slice(0, 64) });
  const value = FIXED_SETTINGS[name]!;
  return sent === value ? undefined : zoneFailure('settingFixed', { name, value }, { pointer: `${place}/value` });
}

interface SettingEdit {
  readonly name: ZoneSettingName;
  readonly value: ZoneSettings[ZoneSettingName];
}

/** `place`: JSON pointer to the setting in the body. */
function readSetting(text: string, sent: unknown, place: string): SettingEdit {
  const name = requireName(text);
  const value = readSettingValue(name, sent);
  if (value === undefined) throw zoneFailure('badSetting', { name }, { pointer: `${place}/value` });
  return { name, value };
}

async function writeSettings(ctx: Context, zoneId: string, edits: readonly SettingEdit[]): Promise<ZoneSettingItem[]> {
  const change = (draft: Draft): number => {
    const { seq } = requireZone(ctx, zoneId);
    for (const edit of edits) writeSetting(ctx, draft, findZone(ctx.store, seq)!, edit);
    return seq;
  };
  const read = (seq: number): ZoneSettingItem[] => {
    const zone = findZone(ctx.store, seq)!;
    return edits.map(({ name }) => settingItem(ctx, zone, name));
  };
  return (await commitAndRead(ctx, change, read)).value;
}

function writeSetting(ctx: Context, draft: Draft, zone: ZoneRow, { name, value }: SettingEdit): void {
  const column = SETTINGS_IN_COLUMNS.find((candidate) => candidate === name);
  if (column !== undefined) {
    const flag = value === 'on' ? 1 : 0;
    const change = (current: ZoneRow): ZoneChange =>
      current[column] === flag ? {} : { [column]: flag, [`${column}_modified_at`]: draft.now };
    applyChange(ctx, draft, zone, 'zone_settings.edit', change, name);
    return;
  }
  const before = settingItem(ctx, zone, name);
  if (JSON.stringify(before.value) === JSON.stringify(value)) return;
  putZoneSetting(ctx.store, zone.seq, { name, value: JSON.stringify(value), modified_at: draft.now });
  if (name === 'development_mode' && value === 'on') planDevelopmentModeEnd(ctx, zone);
  const audited = { before: { [name]: before.value }, after: { [name]: value } };
  draft.event({ kind: 'zone_settings.edit', zone, name, ...audited });
}

function requireName(text: string): ZoneSettingName {
  const name = ZONE_SETTING_NAMES.find((candidate) => candidate === text);
  if (name === undefined) throw zoneFailure('settingUnknown', { name: text.slice(0, 64) });
  return name;
}

function settingItem({ store, clock }: Context, zone: ZoneRow, name: ZoneSettingName): ZoneSettingItem {
  const value = zoneSettings(store, zone)[name];
  const column = SETTINGS_IN_COLUMNS.find((candidate) => candidate === name);
  const row = zoneSettingRows(store, zone.seq).find((candidate) => candidate.name === name);
  const modifiedAt = column ? zone[`${column}_modified_at`] : (row?.modified_at ?? null);
  if (name !== 'development_mode') return { name, value, isEditable: true, modifiedAt };
  const timeRemaining = Math.max(0, developmentModeSeconds(store, zone.seq, clock.nowMs()));
  return { name, value, isEditable: true, modifiedAt, timeRemaining };
}
