/** Where settings and data directory have the master key. */
import type { LoadedSettings } from '../config/load.js';
import { fileKeys, type MasterKeys, settingKeys } from '../vault/master-key.js';
import { dataFile } from './data-directory.js';

/** That of the settings, or else the file in the data directory. */
export function masterKeysOf({ settings, origins }: Pick<LoadedSettings, 'settings' | 'origins'>): MasterKeys {
  const { masterKey, dataDir } = settings;
  return masterKey === undefined
    ? fileKeys(dataFile(dataDir, 'masterKey'))
    : settingKeys(masterKey, origins.masterKey.place);
}
