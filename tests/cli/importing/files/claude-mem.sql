CREATE TABLE observations (id INTEGER PRIMARY KEY, memory_session_id TEXT, project TEXT, text TEXT, type TEXT,
    title TEXT, facts TEXT, narrative TEXT, created_at TEXT, created_at_epoch INTEGER);
CREATE TABLE session_summaries (id INTEGER PRIMARY KEY, memory_session_id TEXT, project TEXT, request TEXT,
    learned TEXT, completed TEXT, next_steps TEXT, created_at TEXT, created_at_epoch INTEGER);
CREATE TABLE user_prompts (id INTEGER PRIMARY KEY, content_session_id TEXT, prompt_number INTEGER,
    prompt_text TEXT, created_at TEXT, created_at_epoch INTEGER);
INSERT INTO observations VALUES (1, 'm1', 'shop', NULL, 'decision', 'Queue', '["Orders are queued in NATS JetStream",
    "The consumer group is called packers"]', 'They chose NATS.', '', 1765000000000);
INSERT INTO session_summaries VALUES (1, 'm1', 'shop', 'queue', 'JetStream needs file storage to survive a restart.',
    '', 'Write the runbook for packers.', '', 1765000100000);
INSERT INTO user_prompts VALUES (1, 's1', 1, 'Which queue should the shop use for orders?', '', 1764999000000);
