/** Settings that are read again while the server runs. */
export interface SettingsReload {
  /** Refuses (409) settings that cannot be used. */
  reload(): Promise<ReloadedSettings>;
}

/** The names of the settings that count from now on, and of those that would count after another start. */
interface ReloadedSettings {
  readonly changed: readonly string[];
  readonly at_start: readonly string[];
}
