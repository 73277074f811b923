package dev.redrive.spring;

import org.springframework.transaction.support.TransactionSynchronizationManager;
import org.springframework.util.ClassUtils;

/** Whether a call is made in a transaction: to defer it would roll that back, while the call goes on. */
final class Transactions {
  static final boolean ARE_THERE =
      ClassUtils.isPresent("org.springframework.transaction.support.TransactionSynchronizationManager", Transactions.class.getClassLoader());

  private Transactions() {}

  static boolean isActive() {
    return ARE_THERE && TransactionSynchronizationManager.isActualTransactionActive();
  }
}
